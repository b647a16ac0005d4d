"""The forms that the sample clinics use: clauses with plain summaries, and statements to acknowledge."""

from __future__ import annotations

from dataclasses import dataclass

from portal.careservice.domain.consents.content import Clause, Statement


@dataclass(frozen=True)
class Template:
    """A clinic's template of a form."""

    kind: str
    title: str
    clauses: tuple[tuple[str, str, str | None], ...]
    agreed: tuple[str, ...]

    @property
    def body(self) -> list[Clause]:
        """The clauses, numbered."""
        return [
            Clause(id=f"clause-{number}", heading=heading, text=text, summary=summary)
            for number, (heading, text, summary) in enumerate(self.clauses, start=1)
        ]

    @property
    def statements(self) -> list[Statement]:
        """The statements, numbered."""
        return [
            Statement(id=f"statement-{number}", text=text) for number, text in enumerate(self.agreed, start=1)
        ]


TREATMENT = Template(
    "Treatment",
    "Consent to IVF with intracytoplasmic sperm injection (ICSI)",
    (
        (
            "What the treatment is",
            "My ovaries will be stimulated with recombinant follicle-stimulating hormone, and premature ovulation "
            "prevented with a GnRH antagonist. Eggs will be collected through the vagina under ultrasound guidance "
            "and sedation, about 34 to 37 hours after the trigger injection. Each mature egg will be injected with "
            "a single sperm.",
            "Injections for about ten days, then a short procedure to collect eggs, which are fertilised in the "
            "laboratory.",
        ),
        (
            "Chance of success",
            "I have been told the live birth rate per embryo transferred in this clinic for my age group. I "
            "understand that there may be no eggs, no fertilisation or no embryo suitable for transfer or freezing.",
            "Treatment may not work, and it can end at any step.",
        ),
        (
            "Risks of stimulation",
            "Ovarian hyperstimulation syndrome occurs in about 1 in 100 cycles in a form that needs hospital care. "
            "The clinic may lower my dose, change the trigger, freeze all embryos or cancel the cycle to avoid it.",
            "Your ovaries can react too strongly. We watch for it and may change the plan.",
        ),
        (
            "Risks of egg collection",
            "Light vaginal bleeding and some pain for a day or two are common. Bleeding inside the abdomen that "
            "needs treatment, pelvic infection and injury to bowel, bladder or a blood vessel are uncommon. "
            "Sedation has risks of its own, which the anaesthetist has explained.",
            "Light bleeding is common; serious harm is uncommon.",
        ),
        (
            "How many embryos are transferred",
            "One embryo will be transferred unless my physician and I agree otherwise in writing, because twin "
            "pregnancy raises the risk of prematurity for the children and of complications for me.",
            "We normally transfer one embryo.",
        ),
        (
            "Children born after treatment",
            "ICSI is associated with a slightly raised risk of some congenital conditions. It isn't known how much "
            "of this is due to the technique and how much to the cause of infertility.",
            None,
        ),
        (
            "Changing my mind",
            "I can vary or withdraw this consent at any time until an embryo is transferred, without giving a "
            "reason and without effect on my other care.",
            "You can change your mind until transfer.",
        ),
    ),
    (
        "I have read this form and had the time I needed to think about it.",
        "I have been able to ask questions, and they were answered.",
        "I understand that the treatment may not result in a pregnancy.",
        "I understand that I can withdraw until an embryo is transferred.",
    ),
)

STORAGE = Template(
    "Storage",
    "Consent to freezing and storage of embryos",
    (
        (
            "What will be stored",
            "Embryos made with my eggs or sperm that aren't transferred and are suitable will be vitrified and kept in "
            "liquid nitrogen at −196 °C in the clinic's laboratory. This form is about my own consent; the other "
            "person whose eggs or sperm are used has a form of their own.",
            "Good embryos that aren't used now are frozen. Each of you signs a form of your own.",
        ),
        (
            "How long",
            "I consent to storage for ten years from the date of freezing. Consent can be renewed in periods of up "
            "to ten years, to a statutory limit of 55 years.",
            "Ten years at a time, up to 55 years in all.",
        ),
        (
            "Fees",
            "Storage is paid for in advance, year by year. The date until which it is paid isn't the date until "
            "which I have consented; both are shown to me separately.",
            "Paid until and consented until are two different dates.",
        ),
        (
            "Survival",
            "About 95 in 100 vitrified blastocysts survive warming. Equipment can fail in spite of alarms and "
            "continuous monitoring.",
            None,
        ),
        (
            "How the embryos may be used",
            "In my own treatment and in treatment together with my partner. Anything else needs a form of its own.",
            "For your treatment together.",
        ),
        (
            "If I die or can no longer decide",
            "The embryos may then stay in storage and be used in the treatment of my partner, for as long as the law "
            "allows. I was told that I can decide otherwise, on another form.",
            "Your partner may use them then. If you want something else, tell us before you sign.",
        ),
        (
            "If one of us withdraws",
            "When either person withdraws consent, the embryos are put on hold. Nothing is done with them for up "
            "to twelve months, so that both can reach a decision.",
            "If one withdraws, everything stops and both are told.",
        ),
    ),
    (
        "I understand that embryos can be stored only while everyone whose cells were used consents.",
        "I understand that fees and consent run to different dates.",
        "I will keep the clinic informed of changes of my address.",
    ),
)

RENEWAL = Template(
    "StorageRenewal",
    "Renewal of consent to embryo storage",
    (
        ("What is renewed", "My consent to the storage of the embryos listed in my record.", None),
        (
            "For how long",
            "Ten further years from the end of the present consent, within the statutory limit of 55 years.",
            "Ten more years.",
        ),
        (
            "What else I could choose",
            "Use in treatment, donation to research or to others, or discarding.",
            None,
        ),
        ("Fees", "Fees go on as before; renewing consent doesn't pay them.", "Renewing isn't paying."),
        (
            "Withdrawal",
            "I can withdraw at any time before the embryos are used.",
            "You can change your mind.",
        ),
    ),
    (
        "I have considered the other choices that I have.",
        "I understand that my partner has to renew as well.",
        "I agree to continued storage.",
    ),
)

GENETIC = Template(
    "GeneticTesting",
    "Consent to preimplantation genetic testing for aneuploidies (PGT-A)",
    (
        (
            "What is tested",
            "Five to ten cells of the trophectoderm are removed from each blastocyst on day 5 or 6 and sent to "
            "an accredited laboratory, which counts chromosomes by next-generation sequencing.",
            "A few cells of each embryo are sent away to count chromosomes.",
        ),
        (
            "What the results mean",
            "A result is euploid, mosaic, aneuploid or no result. Euploid means that the laboratory found no change "
            "above its own limit. Mosaic means that a part of the cells tested differs, and is reported with its "
            "percentage and the laboratory's own cut-offs.",
            "Results come in four kinds; mosaic is in between.",
        ),
        (
            "What they don't mean",
            "The cells tested may not represent the embryo. A euploid result doesn't guarantee a pregnancy or a "
            "healthy child, and doesn't replace prenatal testing.",
            "Testing isn't a guarantee.",
        ),
        (
            "Risks of biopsy",
            "In up to 1 in 100 embryos the biopsy does harm. In 2 to 5 in 100 there is no result, and a second "
            "biopsy can be offered.",
            None,
        ),
        (
            "Sex of embryos",
            "The sex of an embryo isn't told to us and isn't used in choosing embryos, except where the law "
            "provides for it.",
            "We don't disclose the sex of embryos.",
        ),
        (
            "Unexpected findings",
            "Findings that concern my own health are told to me by a genetic counsellor, if I want to know them.",
            "You choose whether to hear of other findings.",
        ),
    ),
    (
        "I understand that there may be no euploid embryo to transfer.",
        "I understand what a mosaic result is.",
        "I understand that testing doesn't replace prenatal diagnosis.",
        "I understand that the sex of embryos isn't disclosed.",
        "I agree to the transport of samples to the laboratory named.",
    ),
)

FROZEN_SPERM = Template(
    "Treatment",
    "Consent to using frozen sperm if it is needed",
    (
        (
            "Why this form",
            "Sperm from two samples is frozen as a reserve. It is used if there are too few moving sperm in the "
            "sample given on the day of egg collection.",
            "A reserve for the day of egg collection.",
        ),
        (
            "What I consent to",
            "The frozen sperm may be thawed and injected into the eggs that are collected in this cycle, as the fresh "
            "sperm would be.",
            None,
        ),
        (
            "What may be different",
            "About half of the sperm survive freezing. With a single sperm chosen for each egg, that hardly changes "
            "the chance that eggs fertilise.",
            "It makes little difference to the chance.",
        ),
        (
            "When it has to be signed",
            "The person who gives the sperm signs first, then the person whose eggs are used, both before egg "
            "collection.",
            "Sign before egg collection.",
        ),
        (
            "Withdrawing",
            "Either of us can withdraw until the eggs are injected. The clinic then tells the other and doesn't go on.",
            "You can withdraw until then; the other is told.",
        ),
    ),
    (
        "I have been able to ask questions, and they were answered.",
        "I agree that the frozen sperm is used if it is needed.",
        "I understand that this can be withdrawn only until the eggs are injected.",
    ),
)

DISCLOSURE = Template(
    "Disclosure",
    "Consent to sharing information about treatment",
    (
        ("What is shared", "A summary of my treatment and the results needed for my further care.", None),
        (
            "With whom",
            "My general practitioner and, once pregnant, my maternity unit.",
            "Your GP and maternity team.",
        ),
        ("What isn't shared", "Donor information and anything about my partner alone.", None),
        ("How long", "Until I withdraw, or five years after the last treatment.", None),
        ("Withdrawing", "What was shared before can't be taken back.", "You can stop future sharing."),
    ),
    (
        "I agree that this information is shared.",
        "I understand that I can withdraw for the future.",
        "I understand that information already shared can't be taken back.",
    ),
)

RESEARCH = Template(
    "Research",
    "Consent to the use of data and surplus material in research",
    (
        ("Purpose", "Studies of embryo development that an ethics committee has approved.", None),
        ("What is used", "Coded data of this cycle, and material that would otherwise be discarded.", None),
        (
            "No effect on treatment",
            "Whether I agree or not makes no difference to my care.",
            "It's your choice.",
        ),
        ("Privacy", "Only the clinic can link the code to me.", "Researchers don't know who you are."),
        ("Withdrawing", "I can withdraw until material has been used in a study.", None),
    ),
    (
        "I have read the information about the study.",
        "I understand that taking part is my own choice.",
        "I agree to being contacted about later studies.",
    ),
)

DISPOSITION = Template(
    "Disposition",
    "Decision about embryos in storage",
    (
        ("What is decided", "What is to be done with the embryos listed in my record.", None),
        (
            "Allowing embryos to perish",
            "Embryos are taken out of storage and not used. This can't be undone.",
            "Final: it can't be undone.",
        ),
        ("Donation to research", "Embryos may be given to a licensed project.", None),
        ("Donation to others", "Donation to other patients needs screening and counselling first.", None),
        (
            "Both have to agree",
            "Nothing is done until everyone whose cells were used has signed.",
            "It takes all of you.",
        ),
    ),
    (
        "I understand that discarding or donating can't be undone.",
        "I was offered counselling.",
        "This is my own decision.",
    ),
)
