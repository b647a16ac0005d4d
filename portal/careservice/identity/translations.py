"""The texts of the identity server's pages, translated."""

from __future__ import annotations

from flask import g, request

LANGUAGES = ("en", "es", "ar")

TRANSLATIONS: dict[str, tuple[str, str]] = {
    "Clinic sign-in": ("Acceso a la clínica", "تسجيل الدخول إلى العيادة"),
    "Error": ("Error", "خطأ"),
    "Sign in": ("Iniciar sesión", "تسجيل الدخول"),
    "You are not signed in": ("No has iniciado sesión", "لم يُسجَّل دخولك"),
    "There were many wrong passwords here. Wait %(seconds)s seconds, then try again; your account isn’t locked.": (
        "Ha habido muchas contraseñas incorrectas aquí. Espera %(seconds)s segundos y vuelve a intentarlo; tu cuenta no "
        "está bloqueada.",
        "أُدخلت هنا كلمات مرور خاطئة كثيرة. يُرجى الانتظار (بالثواني: %(seconds)s) ثم المحاولة مرة أخرى؛ حسابك غير مقفل.",
    ),
    "That user name and password don’t go together. Check both.": (
        "El nombre de usuario y la contraseña no coinciden. Revisa los dos.",
        "اسم المستخدم وكلمة المرور غير متطابقين. يُرجى التحقق من كليهما.",
    ),
    "Enter your password again, so that we know it’s you.": (
        "Escribe de nuevo tu contraseña para que sepamos que eres tú.",
        "يُرجى إدخال كلمة المرور مرة أخرى لنتأكد من هويتك.",
    ),
    "One more step": ("Un paso más", "خطوة أخرى"),
    "Your clinic asks for a code from your authenticator app, or one of your recovery codes.": (
        "Tu clínica pide un código de tu aplicación de autenticación o uno de tus códigos de recuperación.",
        "تطلب عيادتك رمزًا من تطبيق المصادقة لديك، أو أحد رموز الاسترداد الخاصة بك.",
    ),
    "Code": ("Código", "الرمز"),
    "Sign in as somebody else": ("Iniciar sesión como otra persona", "تسجيل الدخول باسم شخص آخر"),
    "Use a passkey": ("Usar una llave de acceso", "استخدام مفتاح مرور"),
    "The passkey wasn’t used. Try again, or sign in another way.": (
        "No se ha usado la llave de acceso. Inténtalo de nuevo o inicia sesión de otra manera.",
        "لم يُستخدم مفتاح المرور. يُرجى المحاولة مرة أخرى أو تسجيل الدخول بطريقة أخرى.",
    ),
    "That passkey isn’t known here. Use another one, or your password.": (
        "Esa llave de acceso no se conoce aquí. Usa otra, o tu contraseña.",
        "مفتاح المرور هذا غير معروف هنا. يمكنك استخدام مفتاح آخر أو كلمة المرور.",
    ),
    "Passkeys and recovery codes": (
        "Llaves de acceso y códigos de recuperación",
        "مفاتيح المرور ورموز الاسترداد",
    ),
    "Passkeys": ("Llaves de acceso", "مفاتيح المرور"),
    "Recovery codes": ("Códigos de recuperación", "رموز الاسترداد"),
    "User name, password and code don’t go together. Check all three.": (
        "El nombre de usuario, la contraseña y el código no coinciden. Revisa los tres.",
        "اسم المستخدم وكلمة المرور والرمز غير متطابقة. يُرجى التحقق من الثلاثة.",
    ),
    "Sign in to see and change them.": (
        "Inicia sesión para verlos y cambiarlos.",
        "يُرجى تسجيل الدخول لعرضها وتغييرها.",
    ),
    "From your authenticator app, or a recovery code. Leave it empty if you have neither.": (
        "De tu aplicación de autenticación, o un código de recuperación. Déjalo vacío si no tienes ninguno.",
        "من تطبيق المصادقة لديك، أو رمز استرداد. ويُترك فارغًا إن لم يكن لديك أي منهما.",
    ),
    "You have a passkey and no code? Sign in to the portal with the passkey, then open this page again.": (
        "¿Tienes una llave de acceso y ningún código? Inicia sesión en el portal con ella y vuelve a abrir esta página.",
        "لديك مفتاح مرور وليس لديك رمز؟ يمكنك تسجيل الدخول إلى البوابة بمفتاح المرور، ثم فتح هذه الصفحة من جديد.",
    ),
    "This is a demo: their apps would show these codes now.": (
        "Esto es una demostración: sus aplicaciones mostrarían ahora estos códigos.",
        "هذا عرض تجريبي: تعرض تطبيقاتهم الآن هذه الرموز.",
    ),
    "Nothing was added": ("No se ha añadido nada", "لم يُضف شيء"),
    "The passkey couldn’t be added. Try again.": (
        "No se ha podido añadir la llave de acceso. Inténtalo de nuevo.",
        "تعذّرت إضافة مفتاح المرور. يُرجى المحاولة مرة أخرى.",
    ),
    "No passkey was added. Try again.": (
        "No se ha añadido ninguna llave de acceso. Inténtalo de nuevo.",
        "لم يُضف مفتاح مرور. يُرجى المحاولة مرة أخرى.",
    ),
    "Your new recovery codes": ("Tus nuevos códigos de recuperación", "رموز الاسترداد الجديدة"),
    "Write them down or print them now: they aren’t shown again. Each works once, in place of a code or a lost passkey.": (
        "Anótalos o imprímelos ahora: no se volverán a mostrar. Cada uno sirve una vez, en lugar de un código o de una "
        "llave de acceso perdida.",
        "يُرجى كتابتها أو طباعتها الآن: لن تُعرض مرة أخرى. يعمل كل منها مرة واحدة بدلًا من رمز أو من مفتاح مرور مفقود.",
    ),
    "On all your devices": ("En todos tus dispositivos", "على جميع أجهزتك"),
    "On one device": ("En un dispositivo", "على جهاز واحد"),
    "Remove": ("Quitar", "إزالة"),
    "You have none. With a passkey you sign in with your finger, your face or your device’s PIN, without a password.": (
        "No tienes ninguna. Con una llave de acceso entras con el dedo, la cara o el PIN de tu dispositivo, sin "
        "contraseña.",
        "ليس لديك أي منها. بمفتاح المرور يمكنك تسجيل الدخول ببصمتك أو وجهك أو رمز جهازك، دون كلمة مرور.",
    ),
    "Add a passkey": ("Añadir una llave de acceso", "إضافة مفتاح مرور"),
    "Left: %(left)s": ("Quedan: %(left)s", "المتبقي: %(left)s"),
    "Make new recovery codes": ("Crear nuevos códigos de recuperación", "إنشاء رموز استرداد جديدة"),
    "The old ones stop working.": ("Los anteriores dejan de funcionar.", "تتوقف الرموز القديمة عن العمل."),
    "That code isn’t right, or was used already. Type the one that the app shows now.": (
        "Ese código no es correcto o ya se ha usado. Escribe el que la aplicación muestra ahora.",
        "هذا الرمز غير صحيح أو سبق استخدامه. يُرجى كتابة الرمز الذي يعرضه التطبيق الآن.",
    ),
    "There were many wrong codes here. Wait %(seconds)s seconds, then try again; your account isn’t locked.": (
        "Ha habido muchos códigos incorrectos aquí. Espera %(seconds)s segundos y vuelve a intentarlo; tu cuenta no "
        "está bloqueada.",
        "أُدخلت هنا رموز خاطئة كثيرة. يُرجى الانتظار (بالثواني: %(seconds)s) ثم المحاولة مرة أخرى؛ حسابك غير مقفل.",
    ),
    "This is a demo: the app of a sample person would show %(code)s now.": (
        "Esto es una demostración: la aplicación de una persona de ejemplo mostraría ahora %(code)s.",
        "هذا عرض تجريبي: تطبيق الشخص التجريبي يعرض الآن %(code)s.",
    ),
    "Go on": ("Continuar", "متابعة"),
    "You can’t sign in, or it can’t wait? Call the clinic:": (
        "¿No puedes entrar o no puede esperar? Llama a la clínica:",
        "تعذّر تسجيل الدخول، أو الأمر لا يحتمل الانتظار؟ يُرجى الاتصال بالعيادة:",
    ),
    "User name": ("Nombre de usuario", "اسم المستخدم"),
    "Password": ("Contraseña", "كلمة المرور"),
    "Sample people": ("Personas de ejemplo", "أشخاص للتجربة"),
    "None of them exists. They share the password that was shown when the demo started.": (
        "Ninguna existe. Comparten la contraseña que se mostró al iniciar la demostración.",
        "لا وجود لأي منهم في الواقع. كلمة مرورهم واحدة، وقد ظهرت عند بدء العرض.",
    ),
    "Sign-in not possible": ("No se puede iniciar sesión", "تعذّر تسجيل الدخول"),
    "You can’t sign in from there": ("No puedes iniciar sesión desde ahí", "لا يمكنك تسجيل الدخول من هناك"),
    "The page that sent you here asked in a way that isn’t allowed. Go back to your clinic’s portal and start again.": (
        "La página que te ha traído aquí lo ha pedido de un modo no permitido. Vuelve al portal de tu clínica y "
        "empieza de nuevo.",
        "الصفحة التي أحالتك إلى هنا طلبت ذلك بطريقة غير مسموح بها. يُرجى العودة إلى بوابة عيادتك والبدء من جديد.",
    ),
    "Sign out": ("Cerrar sesión", "تسجيل الخروج"),
    "Do you want to sign out?": ("¿Quieres cerrar la sesión?", "تسجيل الخروج؟"),
    "%(name)s is signed in in this browser. Signing out ends it on every page of the clinic.": (
        "%(name)s tiene la sesión abierta en este navegador. Al cerrarla, se cierra en todas las páginas de la clínica.",
        "%(name)s مسجَّل الدخول في هذا المتصفح. تسجيل الخروج ينهي الجلسة في جميع صفحات العيادة.",
    ),
    "Signed out": ("Sesión cerrada", "تم تسجيل الخروج"),
    "You are signed out": ("Has cerrado la sesión", "تم تسجيل خروجك"),
    "You can close this page.": ("Puedes cerrar esta página.", "يمكنك إغلاق هذه الصفحة."),
    "Start again": ("Empezar de nuevo", "البدء من جديد"),
    "This sign-in is over": ("Este inicio de sesión ha terminado", "انتهت محاولة تسجيل الدخول هذه"),
    "It was used already, took too long, or began in another browser.": (
        "Ya se ha utilizado, ha tardado demasiado o comenzó en otro navegador.",
        "سبق استخدامها، أو استغرقت وقتًا طويلًا، أو بدأت في متصفح آخر.",
    ),
    "Please try again": ("Inténtalo de nuevo", "يُرجى المحاولة مرة أخرى"),
    "Too much is going on here just now, so nothing was done. Wait a moment, then load this page again.": (
        "Hay demasiada actividad en este momento, así que no se ha hecho nada. Espera un momento y vuelve a cargar "
        "esta página.",
        "هناك ضغط كبير الآن، لذلك لم يُنفَّذ شيء. يُرجى الانتظار لحظة ثم إعادة تحميل هذه الصفحة.",
    ),
    "Try again": ("Intentar de nuevo", "المحاولة مرة أخرى"),
    "Go to the portal": ("Ir al portal", "الانتقال إلى البوابة"),
    "Go back to your clinic’s portal and start again.": (
        "Vuelve al portal de tu clínica y empieza de nuevo.",
        "يُرجى العودة إلى بوابة عيادتك والبدء من جديد.",
    ),
    "patient": ("paciente", "مريض"),
    "nurse": ("enfermería", "تمريض"),
    "physician": ("medicina", "طب"),
    "embryologist": ("embriología", "علم الأجنة"),
    "coordinator": ("coordinación", "تنسيق"),
    "admin": ("administración", "إدارة"),
}
"""By the English text, in the order of the other `LANGUAGES`."""


def choose_language(wanted: str) -> str:
    """Set and return the page's language: the first supported of `wanted` (`ui_locales`), else the browser's."""
    asked = [*wanted.split(), *request.accept_languages.values()]
    g.language = next((tag[:2].lower() for tag in asked if tag[:2].lower() in LANGUAGES), LANGUAGES[0])
    return g.language


def translate(text: str, **values: object) -> str:
    """Return the text in the page's language, with `%(name)s` filled in."""
    index = LANGUAGES.index(g.language)
    translated = TRANSLATIONS[text][index - 1] if index and text in TRANSLATIONS else text
    return translated % values if values else translated
