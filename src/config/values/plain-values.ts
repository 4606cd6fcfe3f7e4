import type { Located } from '../source-node.ts'

/** The keys of a rule that select events, and its name. Templates and labels are not among them. */
const SELECTING = new Set([
  ...['name', 'when', 'if', 'changed', 'unchanged', 'from', 'to-state', 'condition'],
])

/** The step of a path for the items of a list. */
const ITEM = '*'

/**
 * Returns the values of `${env:…}` that all files use only where no secret is written: in watches, conditions, names of rules and sinks,
 * types and channels. To hide a namespace or a team in all texts would make names and links wrong.
 */
export function plainValuesIn(roots: readonly (Located | undefined)[]): ReadonlySet<string> {
  const [plain, secret] = [new Set<string>(), new Set<string>()]
  function visit(at: Located, path: readonly string[]): void {
    if (at.secrets.length === 0) return
    for (const item of at.items ?? []) visit(item, [...path, ITEM])
    for (const [key, { value }] of at.entries ?? []) visit(value, [...path, key])
    if (at.items || at.entries) return
    const target = isPlain(at, path) ? plain : secret
    for (const it of at.secrets) target.add(it)
  }
  for (const root of roots) if (root) visit(root, [])
  return plain.difference(secret)
}

/** Whether all references of a text are of the environment, at a place where no secret is written. */
function isPlain({ written, value }: Located, path: readonly string[]): boolean {
  if (written === undefined || /\$\{(?!env:)/.test(written)) return false
  return isPlainPlace(path) && !/\{[{%]/.test(String(value))
}

function isPlainPlace(path: readonly string[]): boolean {
  const [section, , key = '', ...rest] = path
  if (section === 'watch') return true
  if (section === 'sinks') return rest.length === 0 && (key === 'type' || key === 'channel')
  return section === 'rules' && (SELECTING.has(key) || isNamePlace(path) || (key === 'to' && isChannel(rest)))
}

/** `NAME.channel`, also in a list. */
function isChannel(rest: readonly string[]): boolean {
  const [name, option, ...more] = rest[0] === ITEM ? rest.slice(1) : rest
  return name !== undefined && option === 'channel' && more.length === 0
}

/** Whether a text at this place of a configuration is the name of a rule or sink, or the type of a sink. */
export function isNamePlace(path: readonly string[]): boolean {
  const [section, , key, ...rest] = path
  if (section === 'sinks') return key === 'type' && rest.length === 0
  if (section !== 'rules') return false
  return (key === 'name' && rest.length === 0) || (key === 'to' && rest.every((it) => it === ITEM))
}
