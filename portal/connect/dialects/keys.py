"""Every key of a dialect file: its meaning, default and an example.

The validation of keys, the table in docs/dialects.md (`make documents`) and the skeleton that `python -m portal dialect init` writes are made
from these declarations.
"""

from __future__ import annotations

from collections.abc import Mapping

from portal.values import Value


class Key(Value, frozen=True):
    """A key: its name with its table ("lists.total"), meaning and default (Markdown), and an example (TOML)."""

    name: str
    meaning: str
    default: str
    example: str

    @property
    def table(self) -> str:
        """The table that it is in; "" at the top."""
        return self.name.rpartition(".")[0]


DECLARED: tuple[Key, ...] = (
    Key("base_path", 'prefix of every address, such as `"/fertility/v3"`', "none", '"/fertility/v3"'),
    Key(
        "addresses",
        'replaces the beginning of addresses, or a whole one with its ids: `"/api/care" = "/clinical"`, '
        '`"/api/care/consent-forms/{id}/sign" = "/forms/{id}/signatures"`; with a method before it, for that call alone: '
        '`"PUT /api/care/cases/{id}" = "/cases/{id}/edit"`. The longest match wins',
        "as specified",
        '{ "/api/care" = "/clinical" }',
    ),
    Key(
        "methods",
        'the method of all calls of a kind, or of one: `PUT = "PATCH"`, `"PUT /api/care/cases/{id}" = "POST"`. A `PATCH` '
        'sends only what was changed, and the stamp. Reads that are posted, `GET = "POST"`, have their parameters in the body; '
        "ids stay in the address",
        "as specified",
        '{ PUT = "PATCH" }',
    ),
    Key(
        "headers",
        'headers for every call: a string, or `{ env = "NAME" }` for one from the environment (or from the file named by '
        "`NAME_FILE`). They replace the portal's own `Accept`, `Accept-Language` and `Content-Type`",
        "none",
        '{ X-Client = "portal" }',
    ),
    Key(
        "fixed_query",
        'parameters of every read, `scope = "all"`, or of one: `[fixed_query."GET /api/care/consent-forms"]`',
        "none",
        '{ scope = "all" }',
    ),
    Key(
        "names.members",
        "style of member names: `camelCase`, `PascalCase`, `snake_case`, `kebab-case`, `UPPER_CASE`",
        "`camelCase`",
        '"PascalCase"',
    ),
    Key("names.query", "style of query parameters", "`PascalCase`", '"snake_case"'),
    Key(
        "names.enumerations",
        "style in which enumeration values are sent: one of these, or `integers`; every style is read",
        "`PascalCase`",
        '"UPPER_CASE"',
    ),
    Key("names.first_integer", "the first value's number, with `integers`", "`0`", "1"),
    Key(
        "names.people",
        "how one member holds both names of a person: `first last` (the last word is the last name), or `last, first`. "
        "`firstName` and `lastName` are then both mapped to it",
        "two members",
        '"last, first"',
    ),
    Key(
        "members",
        'a member\'s name in every record (`concurrencyStamp = "row_version"`) or in one (`[members.Patient]`); dots lead '
        'into objects, read and sent: `"demographics.born"`, and into lists by place or by another member: '
        '`"name.0.family"`, `"telecom.system=phone.value"`; `!` before it means that it says the opposite: '
        '`verified = "!Preliminary"`. A record\'s table also holds for what is sent to make or change it (`ConsentForm` '
        'for `ConsentDraft`) and for its extracts in an episode (`ConsentBrief`, `PgtBrief`), unless they have one of their own. `[members."Notification.data"]` is for the data of notifications',
        "by style",
        "",
    ),
    Key(
        "convert",
        "by member, how its value differs: "
        '`"PgtResult.mosaicPercent" = { times = 100 }` (theirs times 100 is a per cent), '
        '`"Medication.startDay" = { plus = 1 }` (days count from 0), '
        '`"Medication.endDay" = { length_from = "startDay" }` (a number of days), '
        '`"Appointment.start" = { form = "dd.MM.yyyy HH:mm" }` (another format than `times`), '
        '`"Medication.time" = { clock = 12 }` ("8:30 PM"), '
        '`patientId = { reference = "Patient/" }` (an id with text before it, or an address that ends so; here in every record)',
        "none",
        '{ "PgtResult.mosaicPercent" = { times = 100 } }',
    ),
    Key("query", "names of query parameters", "by style", '{ SkipCount = "page", MaxResultCount = "size" }'),
    Key(
        "envelopes.answers",
        'the members that enclose an answer, from the outside in: `["result", "data"]`; also applies to lists within a '
        "record",
        "none",
        '["result", "data"]',
    ),
    Key(
        "envelopes.sent",
        "the member that encloses a request body, or several from the outside in",
        "none",
        '"payload"',
    ),
    Key(
        "lists.items",
        'path of a list\'s records, from the root or within the envelope: `"data.rows"`; where each list has its own, by record: '
        '`{ ConsentForm = "_embedded.consents", Notification = "_embedded.news" }`. It may be missing where `lists.total` is 0',
        "`items` in the envelope, or the bare list",
        '"data.rows"',
    ),
    Key(
        "lists.record",
        'path of a record in each item of a list, if it is enclosed: `"resource"`',
        "the item itself",
        '"resource"',
    ),
    Key("lists.total", "path of the total count", "`totalCount`", '"data.count"'),
    Key("lists.unread", "path of the count of unread notifications", "`unreadCount`", '"data.unread"'),
    Key(
        "lists.paging",
        "`offset`: how many records to skip; `page`: a page number in place of `SkipCount`; `cursor`: what each page says of the "
        "next one (`lists.next`)",
        "`offset`",
        '"cursor"',
    ),
    Key(
        "lists.next",
        "with cursors, the path of what names the next page: a cursor, or an address that has it as the parameter `SkipCount` (by the "
        'name that `query` gives it): `"paging.next"`, `"links.relation=next.url"`. There is none on the last page',
        "none",
        '"paging.next"',
    ),
    Key("lists.first_page", "the first page's number", "`1`", "0"),
    Key(
        "lists.first_record",
        "with `offset`, the number of the first record, where `SkipCount` is the number of the record to begin with",
        "`0`",
        "1",
    ),
    Key(
        "lists.largest_page",
        "the largest page size of the API; lists ask for up to 1000 at once, and are read in pieces of this size. Longer "
        "lists need `lists.total`, or they end after one page",
        "no limit",
        "100",
    ),
    Key("lists.sorting", "`field desc`, `field:desc`, `field,desc` or `-field`", "`field desc`", '"-field"'),
    Key(
        "lists.sort_names",
        'the name by which a list is sorted, where it isn\'t the member\'s: `"ConsentForm.title" = "headline"`',
        "the member's name or path",
        '{ "ConsentForm.title" = "headline" }',
    ),
    Key(
        "lists.deleted",
        'the member of a deleted record: `"deleted"` (true), `{ path = "state", value = "X" }`, or any value but some, '
        '`{ path = "deletedAt", unless = "0001-01-01" }` (`unless = []`: any at all); such records are left '
        "out of lists, within records too, and can't be opened",
        "the API doesn't send deleted records",
        '{ path = "Deleted", value = "Y" }',
    ),
    Key(
        "lists.empty",
        'how the API says that there is none: `204`, or an error\'s code, `[204, "NO-ROWS"]`. A 404 without such a code may as '
        "well be a wrong address, and is never read as an empty list",
        "an empty list",
        '[204, "NO-ROWS"]',
    ),
    Key(
        "enumerations",
        "`[enumerations.ConsentStatus]`: the API's code for a value, a string or a number; with several codes, all are "
        "read and the first is sent. List all values: if one is a number, unlisted numbers are unknown. "
        '`[enumerations."Notification.entityType"]` is for a member of type text, '
        '`[enumerations."WorkingHours.dayOfWeek"]` for days of the week (`Monday = 0`)',
        "by style",
        "",
    ),
    Key(
        "times.instants",
        "`iso`, `epoch_s`, `epoch_ms`, or a pattern of `yyyy MM dd HH mm ss`; of several, all are read and the first is "
        "sent",
        "`iso`",
        '["iso", "dd.MM.yyyy HH:mm"]',
    ),
    Key("times.days", "the same, without a time of day", "`iso`", '"dd.MM.yyyy"'),
    Key(
        "times.zone",
        "zone of times without one, and of dates given as an instant",
        "`UTC`",
        '"Europe/Berlin"',
    ),
    Key(
        "times.none",
        'what stands in place of an instant or day where there is none: `[0, "01.01.0001", "9999-12-31"]`. Years before '
        "1971 (dates of birth: 1901) and after 2199 are never read as dates",
        "null, empty text",
        '[0, "01.01.0001"]',
    ),
    Key(
        "values.none",
        "what stands in place of an id or text that may be missing: "
        '`["-", "00000000-0000-0000-0000-000000000000", 0]`',
        "null",
        '["-"]',
    ),
    Key(
        "values.no_number",
        "what stands in place of a number that may be missing: `[-1, 9999]`",
        "null",
        "[-1]",
    ),
    Key(
        "values.numbers",
        "`number`, `text`, or `comma` (text with a decimal comma); times sent as numbers follow `text`",
        "`number`",
        '"text"',
    ),
    Key(
        "values.booleans",
        'the values for true and false: `["Y", "N"]`, `[1, 0]`, `["X", ""]`',
        "true, false",
        '["Y", "N"]',
    ),
    Key(
        "values.zones",
        "names of time zones: `iana`, or `windows` (`W. Europe Standard Time`); both are read",
        "`iana`",
        '"windows"',
    ),
    Key(
        "values.ids",
        "`text` or `number`: how ids of digits alone are sent; both are read",
        "`text`",
        '"number"',
    ),
    Key(
        "values.by_language",
        'the names of languages in texts that come as objects by language: `{ en = "En", es = "Es", ar = "Ar" }`. The '
        "reader's is shown, else the first that there is; a change writes the reader's and keeps the others",
        "texts are texts",
        '{ en = "En", es = "Es" }',
    ),
    Key(
        "values.signers",
        "what names the signers of forms: `account` (the `sub` of their sign-in), or a number of their patient record, "
        "`Patient.id` or `Patient.mrn`. Whose it is says `Patient.userId` of the treatment, or the clinic's `record_claim`; "
        "without either pages say that they can't tell who is asked",
        "`account`",
        '"Patient.id"',
    ),
    Key(
        "values.coded",
        "the members of objects in which values of enumerations come, or texts: "
        '`{ code = "Code", label = "Label" }`, or paths, `{ code = "coding.0.code" }`. Codes are read, and sent alone or, in what '
        "changes a record, as they came; of a code that isn't known, the label is shown",
        "enumerations are single values",
        '{ code = "Code", label = "Label" }',
    ),
    Key(
        "files.content",
        "path of a file's content (base64) in a JSON answer",
        "bytes, or a JSON string of base64",
        '"result.Content"',
    ),
    Key("files.name", "path of its name there", "none", '"result.FileName"'),
    Key(
        "files.redirects",
        'origins to which the API may redirect for a file, `["https://files.example.org"]`; no token is sent there',
        "redirects aren't followed",
        '["https://files.example.org"]',
    ),
    Key(
        "bom",
        "whether request bodies begin with a byte order mark; answers may in any case",
        "`false`",
        "true",
    ),
    Key(
        "concurrency",
        "`member`, or `etag`: the stamp is the answer's `ETag` (if the record has none) and is sent as `If-Match`",
        "`member`",
        '"etag"',
    ),
    Key(
        "errors.success",
        'where every answer says that it was well, if errors are sent with a successful status: `"ok"` (true), or '
        '`{ path = "state", value = "OK" }`; several values as a list. An answer that doesn\'t say is never taken for done',
        'the status; `"success": false`, an `error` and the like are understood ([what the portal reads](assumptions.md#what-the-portal-reads))',
        '"ok"',
    ),
    Key(
        "errors.code",
        "path of an error's code; a number is an index: `errors.0.code`",
        "ABP, RFC 9457 and OAuth are understood",
        '"error.code"',
    ),
    Key(
        "errors.fields",
        "path of the invalid members: an object keyed by name, or a list",
        "as above",
        '"error.fields"',
    ),
    Key("errors.name", "in such a list, the path of the member's name", "the item itself", '"name"'),
    Key(
        "errors.codes",
        'the [rule](#error-codes) or status that a code stands for: `"E77" = "OutOfOrder"`, `"GEN-404" = 404`',
        "the rule's own name, in any style",
        '{ E77 = "OutOfOrder" }',
    ),
    Key("errors.statuses", "the meaning of a status: `423 = 409`", "as in HTTP", "{ 423 = 409 }"),
    Key(
        "accepted",
        "members, calls and keys about which `conform` needn't report or doubt any more, because you know of them: "
        '`["File.size", "GET /api/calendar/resources/physicians", "lists.deleted"]`. They are named in its summary',
        "none",
        '["File.size"]',
    ),
    Key(
        "absent_means_none",
        'members that the API leaves out when there is nothing: `["Episode.alerts"]`',
        "absent means not provided",
        '["Episode.alerts"]',
    ),
)


def _by_table() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {"": []}
    for key in DECLARED:
        found.setdefault(key.table, []).append(key.name.rpartition(".")[2])
        if key.table and key.table not in found[""]:
            found[""].append(key.table)
    return {table: tuple(names) for table, names in found.items()}


KEYS: Mapping[str, tuple[str, ...]] = _by_table()
"""The names of all keys, by table."""
