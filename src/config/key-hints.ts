import { Rule, When } from '../rules/schema.ts'
import { repeatHint } from './alertmanager-keys.ts'
import type { ConfigDocument, Path } from './document.ts'
import type { Located } from './located.ts'
import { neededHint } from './rule-words.ts'

const MISSING: Readonly<Record<string, string>> = {
  watch: 'name the kinds to watch, such as: watch: [Event, Deployment]',
  sinks: 'say where events go, such as: sinks: { screen: { type: stdout } }',
  rules: 'say what goes where, such as: rules: [{ name: all, to: [screen] }]',
  name: 'a rule needs a name: it stands in messages, metrics and dead letters',
  kind: 'name the kind to watch, such as: kind: Deployment',
  type: 'say what kind of sink it is, such as: type: webhook',
}

const MISSING_IN_INCLUDE: Readonly<Record<string, string>> = {
  from: 'name a file, a glob or kubeherald:SET, such as: from: teams/*.yaml',
}

const MISSING_IN_REDIS: Readonly<Record<string, string>> = {
  name: 'what the Sentinels call the master, such as: name: mymaster',
}

/** What to write for a key that is missing. */
export function missingHint(path: Path): string | undefined {
  const needed = neededHint(path)
  if (needed !== undefined) return needed
  if (path[0] === 'tests' && path.at(-1) === 'object')
    return 'say what happens; to let time pass only, write under expect: { at: 10m, … }'
  const hints = path[0] === 'redis' ? MISSING_IN_REDIS : path[0] === 'include' ? MISSING_IN_INCLUDE : MISSING
  return hints[String(path.at(-1))]
}

/** Words of other tools for keys of a rule. */
const RULE_KEYS: Readonly<Record<string, string>> = {
  match: 'when',
  matches: 'when',
  filter: 'when',
  filters: 'when',
  conditions: 'when',
  sink: 'to',
  sinks: 'to',
  send: 'to',
  sendTo: 'to',
  receiver: 'to',
  receivers: 'to',
  cel: 'if',
  expr: 'if',
  expression: 'if',
  rateLimit: 'throttle',
  cooldown: 'throttle',
  silence: 'mute',
  resolved: 'resolve',
  sendResolved: 'resolve',
  send_resolved: 'resolve',
}

/** The key of a rule that another tool's word for it means. */
export function ruleKeyFor(key: string): string | undefined {
  return Object.hasOwn(RULE_KEYS, key) ? RULE_KEYS[key] : undefined
}

/** What rules may say for the sinks that come with kubeherald. */
export const SINK_OPTIONS = ['channel', 'mode', 'groupBy', 'mention', 'topic', 'key', 'state', 'format']

export function optionPlace(key: string, sink: string): string {
  return `options stand under the sink's name: to: [{ ${sink}: { ${key}: … } }]`
}

/** Words of other tools for what stands in the URL of Redis. */
const REDIS_URL_PARTS = ['host', 'hostname', 'address', 'addr', 'port', 'db', 'database']

/** What "when" has no key for, and "if" can ask. */
const ASKED_BY_IF: Readonly<Record<string, string>> = {
  user: 'who it was is asked by an expression beside "when", as far as it is known: if: event.manager.startsWith("kubectl")',
  uid: 'write an expression beside "when": if: event.uid == "…"',
  node: 'write an expression beside "when": if: object.spec.?nodeName.orValue("") == "worker-1"',
  phase:
    'write an expression beside "when": if: object.status.phase == "Failed"; or to-state: { status.phase: Failed }',
  replicas: 'write an expression beside "when": if: object.spec.replicas > 1; or changed: spec.replicas',
}

/** Who wrote the object last. */
function managerHint(found: Located | undefined): string {
  const text = typeof found?.value === 'string' && found.written === undefined ? found.value : ''
  const [, open, word = 'kubectl', more = '*'] = /^(\*?)([\w.-]+)(\*?)$/.exec(text) ?? []
  const asked = `event.manager${open ? (more ? '.contains' : '.endsWith') : more ? '.startsWith' : ' == '}`
  return `write beside "when": if: ${asked.endsWith(' ') ? `${asked}"${word}"` : `${asked}("${word}")`}`
}

/** `status.phase: Failed` under "when": fields are asked by an expression, or by what they become. */
function fieldHint(key: string, found: Located | undefined): string | undefined {
  const [, compared, word] =
    /^((?:status|spec|data)(?:\.[A-Za-z]\w*)+) *={1,2} *"?([\w.-]{1,100})"?$/.exec(key) ?? []
  const leaf = compared === undefined ? found && leafOf(key, found) : { path: compared, value: word }
  if (!leaf) return undefined
  const { path, value } = leaf
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return `write beside "when", for objects that are so: if: object.${path} == ${text}; for when one becomes so: to-state: { ${path}: ${text} }`
}

/** The field that a key names, or nested maps with one key each. */
function leafOf(path: string, { value, entries, items, written, secrets }: Located): Leaf | undefined {
  const [only] = entries?.size === 1 ? entries : []
  if (only) return leafOf(`${path}.${only[0]}`, only[1].value)
  const isPlain = !entries && !items && written === undefined && secrets.length === 0
  return isPlain && /^(status|spec|data)(\.[A-Za-z]\w*)+$/.test(path) ? { path, value } : undefined
}

interface Leaf {
  path: string
  value: unknown
}

/** "throttle" would send the first and suppress the last. */
function debounceHint(found: Located | undefined): string {
  const text = typeof found?.value === 'string' && found.written === undefined ? found.value : ''
  const span = /^\d{1,6}(ms|s|m|h|d)$/.test(text) ? text : '30s'
  return `for one message about all that came in a while write group: { wait: ${span} }; for objects that stay so for a while write for: ${span}`
}

const REGARDING_ANNOTATIONS =
  'annotations of the object that an Event is about are not read; ask for its labels: regarding: { labels: … } ("annotations" beside "regarding" asks for those of the Event itself)'

/** Where a key belongs that stands in the wrong place. */
export function misplacedHint(path: Path, document: ConfigDocument): string | undefined {
  const found = document.at(path)
  const key = String(path.at(-1))
  if (path[0] === 'redis' && path.length === 2 && REDIS_URL_PARTS.includes(key))
    return 'host, port and database stand in the URL: url: redis://HOST:6379/0'
  if (path[0] === 'include' && path.length === 3 && /^(when|if|drop)$/.test(key))
    return 'it is for one rule: write it into the rules of that file'
  if (path[0] !== 'rules') return undefined
  if (path.length === 3 && Object.hasOwn(When.shape, key)) return `"${key}" belongs under "when"`
  if (path.length === 3 && SINK_OPTIONS.includes(key)) return optionPlace(key, 'NAME')
  if (path.length === 3 && /^debounce/i.test(key)) return debounceHint(found)
  if (path.length === 3 && key === 'repeat_interval') return repeatHint(found)
  if (path.length === 4 && path[2] === 'when' && Object.hasOwn(Rule.shape, key))
    return `"${key}" belongs beside "when", not in it`
  if (path.length === 4 && path[2] === 'when' && key === 'manager') return managerHint(found)
  if (path.length === 4 && path[2] === 'when' && Object.hasOwn(ASKED_BY_IF, key)) return ASKED_BY_IF[key]
  if (path.length === 4 && path[2] === 'when') return fieldHint(key, found)
  if (path.length === 5 && path[3] === 'regarding' && key === 'annotations') return REGARDING_ANNOTATIONS
  if (path.length === 5 && path[3] === 'regarding' && Object.hasOwn(When.shape, key))
    return (
      besideRegarding(key, document.at(path.slice(0, 3))) ?? `"${key}" belongs beside "regarding", not in it`
    )
  return undefined
}

/** All of a short `when` with a key moved out of its `regarding`. */
function besideRegarding(key: string, when: Located | undefined): string | undefined {
  if (!when?.entries || when.secrets.length > 0 || when.entries.has(key)) return undefined
  const inner = when.entries.get('regarding')?.value.entries
  const written = ({ file, start, end }: Located) => file.text.slice(start, end)
  const pair = (name: string, value: Located) => `${name}: ${written(value)}`
  const rest = [...(inner ?? [])].filter(([name]) => name !== key)
  const moved = inner?.get(key)?.value
  if (!moved || rest.length === 0) return undefined
  const about = `regarding: { ${rest.map(([name, { value }]) => pair(name, value)).join(', ')} }`
  const parts = [...when.entries].map(([name, { value }]) =>
    name === 'regarding' ? about : pair(name, value),
  )
  const text = `when: { ${[...parts, pair(key, moved)].join(', ')} }`
  return text.length <= 120 && !text.includes('\n')
    ? `it belongs beside "regarding": write ${text}`
    : undefined
}
