"""The texts of the service's own notifications and error messages, translated."""

from __future__ import annotations

LANGUAGES = ("en", "es", "ar")

NOTICES: dict[str, dict[str, tuple[str, str]]] = {
    "ConsentRequested": {
        "en": ("A form is ready for you", "Please read it in the portal and decide whether to sign."),
        "es": ("Tienes un formulario disponible", "Léelo en el portal y decide si quieres firmarlo."),
        "ar": ("لديك نموذج جاهز", "يُرجى قراءته في البوابة، والقرار لك في توقيعه أو عدمه."),
    },
    "ConsentCompleted": {
        "en": ("A form is complete", "Everybody has signed. You can read and print it in the portal."),
        "es": (
            "Un formulario está completo",
            "Han firmado todas las personas. Puedes leerlo e imprimirlo en el portal.",
        ),
        "ar": ("اكتمل أحد النماذج", "وقّع الجميع. يمكنك قراءته وطباعته في البوابة."),
    },
    "ConsentRevoked": {
        "en": ("A form has changed", "A form that names you was withdrawn. Please read it in the portal."),
        "es": (
            "Un formulario ha cambiado",
            "Se ha retirado un consentimiento en el que figuras. Léelo en el portal.",
        ),
        "ar": ("تغيّر أحد النماذج", "سُحبت موافقة يرد فيها اسمك. يُرجى قراءتها في البوابة."),
    },
    "SharingEnded": {
        "en": ("Sharing has ended", "In a treatment under way. Please review what rests on the partner."),
        "es": (
            "Se ha dejado de compartir",
            "En un tratamiento en curso. Revisa lo que depende de la pareja.",
        ),
        "ar": ("انتهت المشاركة", "في علاج جارٍ. يُرجى مراجعة ما يعتمد على الشريك."),
    },
    "SharingEndedByClinic": {
        "en": (
            "Sharing has ended",
            "The clinic has ended what you shared with someone on your record. Your details show with whom you still "
            "share. If you don't know why, ask the clinic.",
        ),
        "es": (
            "Se ha dejado de compartir",
            "La clínica ha puesto fin a lo que compartías con una persona de tu historia. Tus datos muestran con quién "
            "sigues compartiendo. Si no sabes por qué, pregunta a la clínica.",
        ),
        "ar": (
            "انتهت المشاركة",
            "أنهت العيادة ما كنت تشاركه مع شخص في ملفك. تُظهر بياناتك مع من لا تزال المشاركة قائمة. "
            "إن كنت لا تعرف السبب، فاسأل العيادة.",
        ),
    },
    "MessageFromOutside": {
        "en": ("A patient has written", "A message is waiting for an answer."),
        "es": ("Ha escrito un paciente", "Un mensaje espera respuesta."),
        "ar": ("كتب أحد المرضى", "هناك رسالة بانتظار الرد."),
    },
    "MessageFromSomebody": {
        "en": ("Somebody has written", "The sender isn't known for sure. Please find out who it is."),
        "es": ("Alguien ha escrito", "No se sabe con seguridad quién lo envía. Averigua de quién es."),
        "ar": ("وصلت رسالة", "المرسل غير معروف على وجه اليقين. يُرجى التحقق من هويته."),
    },
    "ConfirmPhoneNumber": {
        "en": (
            "Please confirm a contact detail",
            "Text {code} to {to} from your new telephone number within 24 hours. Until then, the clinic can't be sure "
            "that texts from it are yours. If you didn't change your number, tell the clinic.",
        ),
        "es": (
            "Confirma un dato de contacto",
            "Envía {code} por SMS al {to} desde tu nuevo número en un plazo de 24 horas. Hasta entonces, la clínica no "
            "puede saber si los SMS de ese número son tuyos. Si no has cambiado tu número, avisa a la clínica.",
        ),
        "ar": (
            "يُرجى تأكيد إحدى بيانات الاتصال",
            "يُرجى إرسال \u2066{code}\u2069 في رسالة نصية إلى \u2066{to}\u2069 من رقمك الجديد خلال 24 ساعة. "
            "حتى ذلك الحين لا يمكن للعيادة التأكد من أن الرسائل الواردة منه رسائلك. إذا لم يكن تغيير الرقم منك، يُرجى إبلاغ العيادة.",
        ),
    },
    "ConfirmEmail": {
        "en": (
            "Please confirm a contact detail",
            "Send an e-mail with {code} to {to} from your new address within 24 hours. Until then, the clinic can't be "
            "sure that e-mails from it are yours. If you didn't change your address, tell the clinic.",
        ),
        "es": (
            "Confirma un dato de contacto",
            "Envía un correo con {code} a {to} desde tu nueva dirección en un plazo de 24 horas. Hasta entonces, la "
            "clínica no puede saber si los correos de esa dirección son tuyos. Si no has cambiado tu dirección, avisa a la "
            "clínica.",
        ),
        "ar": (
            "يُرجى تأكيد إحدى بيانات الاتصال",
            "يُرجى إرسال رسالة إلكترونية فيها \u2066{code}\u2069 إلى \u2066{to}\u2069 من عنوانك الجديد خلال 24 ساعة. "
            "حتى ذلك الحين لا يمكن للعيادة التأكد من أن الرسائل الواردة منه رسائلك. إذا لم يكن تغيير العنوان منك، يُرجى إبلاغ العيادة.",
        ),
    },
    "ContactConfirmed": {
        "en": ("A contact detail is confirmed", "What you send from it now appears in your messages."),
        "es": (
            "Se ha confirmado un dato de contacto",
            "Lo que envíes desde él aparece ahora en tus mensajes.",
        ),
        "ar": ("تم تأكيد إحدى بيانات الاتصال", "ما يُرسل منها يظهر الآن في رسائلك."),
    },
    "PasskeyAdded": {
        "en": (
            "The security of your account has changed",
            "A passkey was added that signs in to your account. If that wasn't you, tell the clinic at once.",
        ),
        "es": (
            "La seguridad de tu cuenta ha cambiado",
            "Se ha añadido una llave de acceso con la que se entra en tu cuenta. Si no has sido tú, avisa enseguida a la "
            "clínica.",
        ),
        "ar": (
            "تغيّر أمان حسابك",
            "أُضيف مفتاح مرور يتيح الدخول إلى حسابك. إذا لم يكن ذلك منك، يُرجى إبلاغ العيادة فورًا.",
        ),
    },
    "PasskeyRemoved": {
        "en": (
            "The security of your account has changed",
            "A passkey was removed from your account. If that wasn't you, tell the clinic at once.",
        ),
        "es": (
            "La seguridad de tu cuenta ha cambiado",
            "Se ha quitado una llave de acceso de tu cuenta. Si no has sido tú, avisa enseguida a la clínica.",
        ),
        "ar": ("تغيّر أمان حسابك", "أُزيل مفتاح مرور من حسابك. إذا لم يكن ذلك منك، يُرجى إبلاغ العيادة فورًا."),
    },
    "RecoveryCodesMade": {
        "en": (
            "The security of your account has changed",
            "New recovery codes were made for your account. If that wasn't you, tell the clinic at once.",
        ),
        "es": (
            "La seguridad de tu cuenta ha cambiado",
            "Se han creado códigos de recuperación nuevos para tu cuenta. Si no has sido tú, avisa enseguida a la clínica.",
        ),
        "ar": (
            "تغيّر أمان حسابك",
            "أُنشئت رموز استرداد جديدة لحسابك. إذا لم يكن ذلك منك، يُرجى إبلاغ العيادة فورًا.",
        ),
    },
    "ContactShared": {
        "en": (
            "Please check a patient's contact details",
            "The records of {names} have the same e-mail address or telephone number.",
        ),
        "es": (
            "Revisa los datos de contacto de una paciente",
            "Las fichas de {names} tienen el mismo correo o número de teléfono.",
        ),
        "ar": (
            "يُرجى مراجعة بيانات الاتصال لأحد المرضى",
            "في سجلات هؤلاء عنوان البريد الإلكتروني نفسه أو رقم الهاتف نفسه: {names}.",
        ),
    },
    "EnquiryReceived": {
        "en": ("A new enquiry came in", "Somebody whom the clinic doesn't know yet has written."),
        "es": ("Ha llegado una nueva consulta", "Ha escrito alguien a quien la clínica aún no conoce."),
        "ar": ("وصل استفسار جديد", "كتب شخص لا تعرفه العيادة بعد."),
    },
    "PaymentReceived": {
        "en": ("A payment was received", "Thank you. The portal shows what it was for."),
        "es": ("Se ha recibido un pago", "Gracias. El portal muestra a qué corresponde."),
        "ar": ("تم استلام دفعة", "شكرًا لك. تعرض البوابة تفاصيلها."),
    },
    "PaymentNotApplied": {
        "en": (
            "A payment for storage isn’t applied",
            "It can’t be read for how long or for which embryos payment {payment} is, at least not for all. Set the date in the "
            "clinic’s system.",
        ),
        "es": (
            "Un pago de almacenamiento no se ha aplicado",
            "No se puede leer por cuánto tiempo o para qué embriones es el pago {payment}, al menos no para todos. Pon la fecha en "
            "el sistema de la clínica.",
        ),
        "ar": (
            "لم تُطبَّق دفعة للتخزين",
            "تعذّرت معرفة المدة أو الأجنة التي تخصّها الدفعة {payment}، أو بعضها على الأقل. حدّد التاريخ في نظام العيادة.",
        ),
    },
    "PaymentFailed": {
        "en": ("A payment did not go through", "Nothing was taken. Please try again or ask the clinic."),
        "es": (
            "Un pago no se ha realizado",
            "No se ha cobrado nada. Inténtalo de nuevo o pregunta en la clínica.",
        ),
        "ar": ("لم تتم عملية دفع", "لم يُخصم أي مبلغ. يُرجى المحاولة مرة أخرى أو سؤال العيادة."),
    },
    "ProspectReceived": {
        "en": ("An appointment was booked", "A window was booked for an enquiry."),
        "es": ("Se ha reservado una cita", "Se ha reservado una franja para una consulta."),
        "ar": ("تم حجز موعد", "تم حجز موعد لأحد الاستفسارات."),
    },
}
"""Title and body by kind of notification (or `announce`'s `notice`) and language; titles are fit for a lock screen."""

ERRORS: dict[str, dict[str, str]] = {
    "Invalid": {
        "en": "Your request is not valid.",
        "es": "La solicitud no es válida.",
        "ar": "الطلب غير صالح.",
    },
    "NotThere": {
        "en": "There is no such record.",
        "es": "No existe ese registro.",
        "ar": "لا يوجد سجل كهذا.",
    },
    "KeptElsewhere": {
        "en": "This is not offered here.",
        "es": "Esto no se ofrece aquí.",
        "ar": "هذا غير متاح هنا.",
    },
    "Internal": {
        "en": "An internal error occurred.",
        "es": "Se ha producido un error interno.",
        "ar": "حدث خطأ داخلي.",
    },
    "Busy": {
        "en": "This could not be done just now. Nothing was changed.",
        "es": "No se ha podido hacer en este momento. No se ha cambiado nada.",
        "ar": "تعذّر تنفيذ هذا الآن. لم يتغيّر شيء.",
    },
    "MethodNotAllowed": {
        "en": "This address does not accept that method.",
        "es": "Esta dirección no admite ese método.",
        "ar": "لا يقبل هذا العنوان تلك الطريقة.",
    },
    "Refused": {
        "en": "A rule of the clinic does not allow this.",
        "es": "Una norma de la clínica no lo permite.",
        "ar": "لا تسمح إحدى قواعد العيادة بذلك.",
    },
    "ConcurrencyConflict": {
        "en": "Somebody changed this in the meantime.",
        "es": "Alguien lo ha modificado entretanto.",
        "ar": "قام شخص آخر بتغيير هذا في هذه الأثناء.",
    },
    "AlreadySigned": {
        "en": "You have already signed this.",
        "es": "Ya lo has firmado.",
        "ar": "لقد وقّعت هذا من قبل.",
    },
    "OutOfOrder": {
        "en": "Somebody else has to sign first.",
        "es": "Antes debe firmar otra persona.",
        "ar": "يجب أن يوقّع شخص آخر أولًا.",
    },
    "NotASigner": {
        "en": "You are not named as a signer of this form.",
        "es": "No figuras como firmante de este formulario.",
        "ar": "لست من الموقّعين على هذا النموذج.",
    },
    "ContentChanged": {
        "en": "The form is not the version that you read.",
        "es": "El formulario no es la versión que leíste.",
        "ar": "النموذج ليس النسخة التي قرأتها.",
    },
    "PatientMustSign": {
        "en": "The patient has to be among the signers.",
        "es": "La paciente debe estar entre los firmantes.",
        "ar": "يجب أن يكون المريض من بين الموقّعين.",
    },
    "PartnerMustSign": {
        "en": "The partner has to be among the signers.",
        "es": "La pareja debe estar entre los firmantes.",
        "ar": "يجب أن يكون الشريك من بين الموقّعين.",
    },
    "OnePersonEach": {
        "en": "Each person signs a form of this kind of their own.",
        "es": "Cada persona firma su propio formulario de este tipo.",
        "ar": "لكل شخص نموذج خاص به من هذا النوع يوقّعه وحده.",
    },
    "SignerNotOfRecord": {
        "en": "A signer does not match the records.",
        "es": "Un firmante no es quien consta en los registros.",
        "ar": "أحد الموقّعين ليس الشخص المذكور في السجلات.",
    },
    "RoleNotYours": {
        "en": "You can't sign in this role.",
        "es": "No puedes firmar con este papel.",
        "ar": "لا يمكنك التوقيع بهذه الصفة.",
    },
    "FormAlreadyOpen": {
        "en": "A form like this one already exists.",
        "es": "Ya existe un formulario igual.",
        "ar": "يوجد نموذج مماثل بالفعل.",
    },
    "FormMissing": {
        "en": "A signed form that allows this is missing.",
        "es": "Falta un formulario firmado que lo permita.",
        "ar": "ينقص نموذج موقّع يسمح بذلك.",
    },
    "ConsentActedUpon": {
        "en": "What this form allows has been carried out.",
        "es": "Lo que este formulario permite ya se ha llevado a cabo.",
        "ar": "ما يسمح به هذا النموذج قد نُفِّذ بالفعل.",
    },
    "WithdrawalNotYours": {
        "en": "Only those who sign for the patient's side can withdraw this.",
        "es": "Solo puede retirarlo quien firma por parte de la paciente o su pareja.",
        "ar": "لا يمكن سحبه إلا لمن يوقّع من جانب المريض.",
    },
    "SupersedesOther": {
        "en": "The new form can't replace that one.",
        "es": "El formulario nuevo no puede sustituir a ese.",
        "ar": "لا يمكن للنموذج الجديد أن يحل محل ذلك النموذج.",
    },
    "WishNotYours": {
        "en": "Only the patient or partner decides this.",
        "es": "Esto solo lo decide la paciente o su pareja.",
        "ar": "لا يقرر هذا إلا المريض أو الشريك.",
    },
    "WishDiffers": {
        "en": "The wish on record is a different one.",
        "es": "El deseo registrado es otro.",
        "ar": "الرغبة المسجّلة مختلفة.",
    },
    "OnHold": {"en": "The embryo is on hold.", "es": "El embrión está bloqueado.", "ar": "الجنين معلّق."},
    "SecondPersonMissing": {
        "en": "A second person's signature is missing.",
        "es": "Falta la firma de una segunda persona.",
        "ar": "ينقص توقيع شخص ثانٍ.",
    },
    "FormRevoked": {
        "en": "This form was withdrawn.",
        "es": "Este consentimiento se ha retirado.",
        "ar": "سُحبت هذه الموافقة.",
    },
    "FormExpired": {
        "en": "This form has expired.",
        "es": "Este formulario ha caducado.",
        "ar": "انتهت صلاحية هذا النموذج.",
    },
    "SlotTaken": {
        "en": "This time has just been taken.",
        "es": "Esta hora acaba de ser reservada.",
        "ar": "تم حجز هذا الوقت للتو.",
    },
}
"""By name of the error or rule, and language."""


def notice(kind: str, language: str) -> tuple[str, str]:
    """Title and body of the notice `kind`."""
    texts = NOTICES[kind]
    return texts.get(language, texts["en"])


def error(name: str, language: str) -> str:
    """The message for the error or rule `name`; for rules without their own, that a rule doesn't allow it."""
    texts = ERRORS.get(name, ERRORS["Refused"])
    return texts[language]
