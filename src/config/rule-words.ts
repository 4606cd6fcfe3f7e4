import type { Path } from './document.ts'

/** The path from a rule on, also in what stands for several rules; undefined elsewhere. */
export function withinRule(path: Path): Path | undefined {
  if (path[0] === 'defaults') return path.slice(1)
  return path[0] === 'rules' || path[0] === 'include' ? path.slice(2) : undefined
}

/** What other tools, and people in a hurry, call the keys within a key of a rule. */
const WITHIN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  when: {
    involvedObject: 'regarding',
    about: 'regarding',
    ns: 'namespace',
    namespaces: 'namespace',
    kinds: 'kind',
    names: 'name',
    labelSelector: 'labels',
    eventType: 'type',
    types: 'type',
    reasons: 'reason',
    namespaceSelector: 'namespaceLabels',
    ownerReferences: 'owner',
    controller: 'owner',
  },
  condition: {
    status: 'becomes',
    to: 'becomes',
    value: 'becomes',
    is: 'becomes',
    name: 'type',
    was: 'from',
    duration: 'for',
  },
  throttle: {
    by: 'per',
    interval: 'every',
    window: 'every',
    within: 'every',
    period: 'every',
    in: 'every',
    for: 'every',
    limit: 'burst',
    max: 'burst',
    count: 'burst',
  },
  after: {
    by: 'per',
    in: 'within',
    window: 'within',
    every: 'within',
    interval: 'within',
    period: 'within',
    times: 'count',
    min: 'count',
    threshold: 'count',
  },
  group: {
    per: 'by',
    key: 'by',
    keys: 'by',
    delay: 'wait',
    every: 'interval',
    window: 'interval',
    limit: 'max',
    size: 'max',
  },
  mute: {
    tz: 'timezone',
    timeZone: 'timezone',
    zone: 'timezone',
    location: 'timezone',
    start: 'from',
    after: 'from',
    end: 'to',
    until: 'to',
    before: 'to',
    day: 'days',
    weekdays: 'days',
  },
  resolve: { by: 'per', within: 'after', for: 'after', every: 'after' },
}

const FROM = ['file', 'files', 'path', 'paths', 'glob', 'set', 'source', 'name']

/** The key within a key of a rule that another word for it means. */
export function innerKeyFor(path: Path): string | undefined {
  if (path[0] === 'include' && path.length === 3 && FROM.includes(String(path[2]))) return 'from'
  const inner = withinRule(path)?.filter((step) => typeof step === 'string')
  if (inner?.length !== 2) return undefined
  const [key = '', word = ''] = inner
  const words = Object.hasOwn(WITHIN, key) ? WITHIN[key] : undefined
  return words && Object.hasOwn(words, word) ? words[word] : undefined
}

/** What to write for a key that a rule's key needs. */
const NEEDED: Readonly<Record<string, string>> = {
  'condition.type': 'name the condition, such as type: Ready',
  'condition.becomes': 'say what its status becomes, such as becomes: "False"',
  'throttle.every': 'at most one in so long a time: every: 10m',
  'after.count': 'how many there must be, such as count: 3',
  'after.within': 'in how long a time, such as within: 10m',
  'resolve.after': 'over when none came for so long: after: 15m',
}

export function neededHint(path: Path): string | undefined {
  const key = withinRule(path)?.join('.') ?? ''
  return Object.hasOwn(NEEDED, key) ? NEEDED[key] : undefined
}
