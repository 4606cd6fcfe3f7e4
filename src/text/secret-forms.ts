const HEADER_NAMES = 'authorization|cookie'
const KEY_NAMES = '(?:access|account|api|encryption|master|private|secret|signing)[-_. ]?key'
const VALUE_NAMES = `token|pass(?:word|wd|phrase|code)|secret|${KEY_NAMES}|secret[-_.]?key[-_.]?base|shared[-_.]?access[-_.]?signature|dockerconfigjson`

/** Names whose values are secrets: `DB_PASSWORD`, `apiKey`, `auth-token`. */
export const SECRET_NAME = new RegExp(`(?:${HEADER_NAMES}|${VALUE_NAMES}|pass|pwd|credentials?)$`, 'i')

/** In a text some names have another meaning, too: `credentials: none found`, `PWD=/app`, `pass: 12`. */
export const TEXT_NAMES = String.raw`${VALUE_NAMES}|credentials?(?=\\{0,8}["']|[ \t]{0,64}=)|pwd(?![:=] ?/)|(?<=[-_.])(?:pass|pwd)|pass(?=\\{0,8}["'])`
/** With one value these are counts: `tokens: 5`. */
export const LIST_NAMES = `(?:${VALUE_NAMES}|credential)s`

/** What is between a name and its value: `=`, `":`, `] =>`, `\\\":` and ` ->`. */
export const BETWEEN = String.raw`\\{0,8}["']?\]?\\{0,8}["']?(?:[ \t]{0,64}[:=]{1,9}(?:>|(?![:=>]))|[ \t]{1,64}->)[ \t]{0,64}`

/*
 * What repeats in the next four never has to be given back, as nothing behind it must match: so they take linear time. The bound is for
 * the stack, which each repetition uses.
 */
/** A text to the same quote, which has as many backslashes before it in JSON within JSON, or to the end of its line. */
export const QUOTED = String.raw`(?<quote>\\{0,8}(?:"""|'''|["']))(?:[^\\"'\n]+|''|\\+(?!["'\\])|(?!\k<quote>)\\*["']){0,99999}(?:\k<quote>)?`
/** The next line of a list is one with a text or a word, or with the bracket that ends it. */
const NEXT_ITEM = String.raw`\n(?=[ \t]{0,64}(?:\]|\\{0,8}"(?:[^"\\\n]|\\.)*"[ \t]*(?:[,\]]|$)|'[^'\n]*'[ \t]*(?:[,\]]|$)|[^\s,:"'{}[\]]+,?$))`
/** A list to its end, or to that of its last line. A bracket in front of an ordinary character does not end it. */
export const LIST = String.raw`\[(?:[^\]\n]+|\](?!/>)(?=[^\s,;:&})\]"'\\])|${NEXT_ITEM}){0,99999}\]?`
/** A word; behind `,`, `;`, `&` or a quote only what cannot be the next name. */
const WORD = String.raw`[^\s,;&"']+(?:[,;&"'](?=[^\s,;&"'=:(){}[\]]+(?:\s|$))[^\s,;&"']+){0,999}`
/** The rest of a line, or of the quoted text that it is in, up to another argument; with `name="…"`, as in digests and cookies. */
const REST = String.raw`(?:[\w-]{1,40}=\\{0,8}"[^"\n]*"(?=[\\"';, \n]|$)|(?! --[a-z])[ ,;]|[^"'\n ,;]+){1,99999}`

/** Values that are part of a message: `token: expired`, `secret: not found`, `--token to set`. */
const MESSAGES =
  'a|an|and|are|as|can|cannot|context|could|empty|EOF|error|expired|failed|false|for|from|has|if|illegal|in|incorrect|invalid|is|malformed|' +
  'missing|mismatch|must|nil|no|none|not|null|of|option|or|required|revoked|should|signature|string|the|to|too|true|unable|unauthorized|' +
  'undefined|unexpected|unknown|unset|was|will|with|wrong|yes'
/** Values that only begin a message: `token: Get "https://…"`, `password: see above`. */
const BEGINNINGS = '(?:dial|get|open|post|read|secrets?|see|tokens?)(?= +(?:"|[a-z]+(?:[\\s:]|$)))'
/** A value that is no secret: part of a message, a reference such as `$(NAME)`, a masked value, a bracket, or an empty text. */
export const NO_SECRET = String.raw`(?!${BEGINNINGS}|(?:${MESSAGES}|\*{3,}|<(?:hidden|masked|nil|none|redacted|unset)>|\$[({][\w.]{1,99}[)}]|[(){}<>=])(?=[.,;:!]?(?:[\s)}\]\\]|["'](?!\w)|$)|,["'])|(?<empty>\\{0,8}["'])\k<empty>(?=[\s,;)}\]\\]|$))`
/** A header that is a word of a message. The list is short, since a header may begin with any word. */
const NO_HEADER = String.raw`(?!(?:empty|expired|failed|false|invalid|missing|nil|none|null|required|true|undefined|unset|\*{3,})(?=[.,]?(?:[\s)}\]\\]|["'](?!\w)|$)))`
/** `Some("…")`, `b'…'` and the like. */
const WRAPPED = String.raw`(?:(?:\w{1,40}\(){0,3}\w{0,2}(?=\\{0,8}["']))?${QUOTED}`

/** Forms of secrets behind a name. What stays of a match is the group `kept`. Each takes linear time. */
export const NAMED_FORMS: Readonly<Record<string, RegExp>> = {
  /** Values of headers have spaces: a scheme and its credentials, several cookies. */
  header: form(`(?:${HEADER_NAMES})${BETWEEN}`, String.raw`(?=\S)${NO_HEADER}(?:${QUOTED}|${LIST}|${REST})`),
  /** `password=…`, `"apiKey": "…"`, `token: Bearer …`, `secret: ["…"]`. */
  value: form(
    `(?:${TEXT_NAMES})${BETWEEN}`,
    `${NO_SECRET}(?:(?:bearer|basic) +)?(?:${WRAPPED}|${LIST}|${WORD})`,
  ),
  /** `"path":"/spec/password","value":"…"`, where the name is the value of any key, and `set DB_PASSWORD, value=…`. */
  next: form(
    String.raw`(?:${HEADER_NAMES}|${TEXT_NAMES})\\{0,8}["']?[ \t]{0,64}(?:,\s{0,64}|\n[ \t]{0,64})\\{0,8}["']?value\\{0,8}["']?[ \t]{0,64}[:=]{1,2}>?[ \t]{0,64}`,
    `${NO_SECRET}(?:${WRAPPED}|${LIST}|${WORD})`,
  ),
  /** `"tokens": ["…", "…"]`; a list of maps has names of its own. */
  list: form(`(?:${LIST_NAMES})${BETWEEN}`, String.raw`(?!\[\s{0,64}[{\]])${LIST}`),
  /** `--db-password …` and `"--token", "…"`. */
  argument: form(
    String.raw`(?:${TEXT_NAMES})(?<=(?<![\w-])--?\w[\w.-]{0,60})(?:[ \t]{1,9}|\\{0,8}["'],?\s{1,9}|\\{0,8}["'],(?=\\{0,8}["']))`,
    String.raw`${NO_SECRET}(?!-|\\)(?:${QUOTED}|${LIST}|${WORD})`,
  ),
  /** `<password>…</password>`, `<property name="password">…</property>`, `<name>db.password</name> <value>…</value>`. */
  element: form(
    String.raw`(?:${TEXT_NAMES})["']?(?:</(?:name|key)>\s{0,64}<(?:value|string))?>`,
    String.raw`[^<>\n]+(?=</)`,
  ),
  sql: form(
    String.raw`\b(?:(?:user|role|to)\s{1,9}\S{1,200}\s{1,9}identified\s{1,9}(?:with\s{1,9}\S{1,60}\s{1,9})?(?:by|as)\s{1,9}(?:password\s{1,9})?|password\s{1,9}for\s{1,9}\S{1,200}\s{0,9}=\s{0,9}|password\s{1,9}(?='))`,
    WRAPPED,
  ),
  curl: form(
    String.raw`\bcurl\b[^\n]{0,200}?\s(?:-u|--(?:proxy-)?user)[= ]{0,2}\\{0,8}["']?[^\s:"'\\]{1,200}:`,
    String.raw`[^\s"'\\]+`,
  ),
  netrc: form(
    String.raw`\b(?:machine\s{1,64}\S{1,200}|default)\s{1,64}login\s{1,64}\S{1,200}\s{1,64}password\s{1,64}`,
    String.raw`\S+`,
  ),
}

const UNNAMED = [
  String.raw`\bbearer +(?![a-z]{1,20}\.?(?![\w.~+/=-]))[\w.~+/=-]{8,}`,
  String.raw`(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`,
].join('|')
/** What GitHub, GitLab, Slack, npm, PyPI, Stripe, OpenAI, Anthropic, Google, Vault, DigitalOcean, SendGrid and age begin theirs with. */
const ISSUED = [
  String.raw`gh[oprsu]_[A-Za-z\d]{20,}|github_pat_\w{20,}|gl(?:agent|cbt|dt|ft|imt|pat|ptt|rt|soat)-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}|xapp-\d-[\w-]{10,}|npm_[A-Za-z\d]{30,}`,
  String.raw`pypi-AgE[\w-]{16,}|[rs]k_(?:live|test)_\w{16,}|whsec_[\w+/=]{16,}|sk-(?:admin|ant|or|proj|svcacct)-[\w-]{20,}|sk-[A-Za-z\d]{32,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}`,
  String.raw`hv[bs]\.[\w-]{20,}|do[opr]_v1_[a-f\d]{20,}|SG\.[\w-]{16,64}\.[\w-]{16,}|AGE-SECRET-KEY-1[A-Z\d]{20,}`,
].join('|')

/** Secrets that need no name. */
export const TOKEN_FORMS: Readonly<Record<string, RegExp>> = {
  /** Bearer tokens and JSON Web Tokens. */
  token: form('', UNNAMED),
  issued: form('', String.raw`(?<![\w-])(?:${ISSUED})`, 'gm'),
  /** The secret behind an identifier of AWS, which has no name of its own. */
  aws: form(
    String.raw`\b(?:AKIA|ASIA)[A-Z\d]{16}[\s,:;|"']{1,8}`,
    String.raw`[A-Za-z\d/+]{40}(?![\w/+])`,
    'gm',
  ),
  /** Addresses of chats that need no other password. */
  chat: form(
    String.raw`\bhooks\.slack\.com/[a-z]{1,20}/|\bdiscord(?:app)?\.com/api/webhooks/|\bapi\.telegram\.org/bot`,
    String.raw`[\w:/-]+`,
  ),
}

const END_OF_KEY = String.raw`-{4,5} ?END [A-Z\d ]{0,30}PRIVATE KEY(?: BLOCK)? ?-{4,5}`
/** Whole or without its end. Before it may be headers, such as `Proc-Type: 4,ENCRYPTED`. */
export const PRIVATE_KEY = new RegExp(
  String.raw`-{4,5} ?BEGIN [A-Z\d ]{0,30}PRIVATE KEY(?: BLOCK)? ?-{4,5}(?:(?:\s|\\n){1,4}[A-Z][A-Za-z-]{1,20}: [^\n\\]{1,100}){0,9}[^-]*(?:${END_OF_KEY})?`,
  'g',
)
/** Without its begin, as the end of a log may be: at most 256 lines, since each line is tried as the first. */
export const END_OF_PRIVATE_KEY = new RegExp(
  String.raw`(?:^ {0,64}[A-Za-z\d+/=]{16,80}\n){0,256}^ {0,64}[A-Za-z\d+/=]{1,80}\n {0,64}${END_OF_KEY}`,
  'gm',
)

/** What may be user and password in Base64. */
export const BASE64_LOGIN =
  /(?<kept>\b(?:basic +|_?auth\\{0,8}["']?[ \t]{0,9}[:=][ \t]{0,9}\\{0,8}["']?))(?<login>[A-Za-z\d+/]{6,9999}={0,2})/gi

function form(kept: string, secret: string, flags = 'gim'): RegExp {
  return new RegExp(`(?<kept>${kept})(?:${secret})`, flags)
}
