import { nearest } from '../../nearest.ts'
import { type Checking, spanOf, type Token, textAt } from './checking.ts'
import { isNotCarried } from './event-view.ts'
import type { TemplateProblem } from './fault.ts'
import { dottedHint, placeHint } from './foreign.ts'
import { NAMES } from './view.ts'

/** Checks the names in a value. */
export function checkNames(at: Checking, token: Token): void {
  if (token.lhs) checkNames(at, token.lhs)
  if (token.rhs) checkNames(at, token.rhs)
  if (!token.props) return
  for (const prop of token.props) if (prop.props) checkNames(at, prop)
  if (token.variable) return checkNames(at, token.variable)
  const [root, ...steps] = token.props
  if (typeof root?.content !== 'string') return
  const name = root.content
  if (at.source[token.begin] === '.') {
    const hint = dottedHint(textAt(at, token))
    return at.report({ ...spanOf(token), message: 'a name cannot begin with a dot', hint })
  }
  if (at.locals.has(name)) return
  if (!Object.hasOwn(NAMES, name)) return at.report(unknownName(at, root, name))
  const labels = keyHint(at, token, token.end)
  if (labels !== undefined)
    return at.report({
      ...spanOf(token),
      message: 'a key with "." or "/" needs brackets and quotes',
      hint: labels,
    })
  checkInner(at, name, steps)
}

const EVERYWHERE = ['size', 'first', 'last']

/** What lies in a name, where that is known. */
function checkInner(at: Checking, name: string, steps: readonly Token[]): void {
  const known = Object.hasOwn(NAMES, name) ? NAMES[name] : undefined
  const [step] = steps
  if (!known || typeof step?.content !== 'string') return
  const inner = step.content
  const path = steps.map(({ content }) => String(content))
  if (name === 'event' && isNotCarried(path))
    return at.report({
      ...spanOf(step),
      message: `messages do not carry event.${path.slice(0, inner === 'regarding' ? 2 : 1).join('.')}`,
      hint: 'ask for them by "when" or "if", and let the rule say what it found: labels: { team: shop }',
    })
  if (known.includes(inner) || EVERYWHERE.includes(inner)) return
  const near = nearest(inner, known)
  const hint = near === undefined ? undefined : `did you mean "${near}"?`
  const choice = known.length > 0 ? `it has ${known.join(', ')}` : `${name} is a single value`
  at.report({ ...spanOf(step), message: `"${name}" has no "${inner}"`, hint: hint ?? choice })
}

function unknownName({ locals }: Checking, root: Token, name: string): TemplateProblem {
  const message = `there is no "${name}"`
  const near = name.length < 3 ? undefined : nearest(name, [...Object.keys(NAMES), ...locals])
  const hint = near === undefined ? `there are ${Object.keys(NAMES).join(', ')}` : `did you mean "${near}"?`
  return { ...spanOf(root), message, hint: placeHint(name) ?? hint }
}

const FLAT = ['labels', 'annotations', 'matchLabels', 'nodeSelector']

/** Labels and annotations lie in a flat map: what goes deeper, or on behind a "/", is one key. */
export function keyHint({ source }: Checking, token: Token, end: number): string | undefined {
  const props = token.props ?? []
  const at = props.findIndex(
    ({ content }, i) =>
      FLAT.includes(String(content)) && (i === 0 || i === props.length - 1 || isParent(props[i - 1])),
  )
  const [first, ...deeper] = at === -1 ? [] : props.slice(at + 1)
  if (!first || typeof first.content !== 'string' || source[first.begin - 1] !== '.') return undefined
  const isLonger = end > token.end
  if (!isLonger && (deeper.length === 0 || EVERYWHERE.includes(String(deeper.at(-1)?.content))))
    return undefined
  return `write ${source.slice(token.begin, first.begin - 1)}["${source.slice(first.begin, end)}"]`
}

function isParent(token: Token | undefined): boolean {
  return ['metadata', 'selector', 'spec'].includes(String(token?.content))
}
