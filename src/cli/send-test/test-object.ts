import { builtInKinds, compileKinds, parseSpelling } from '../../rules/kind.ts'
import { type Patterns, parsePatterns } from '../../rules/pattern.ts'

/** The name of the object that a test message is about. No such object exists. */
export const TEST_NAME = 'kubeherald-test'

const NOTE = 'Test message of kubeherald send-test: nothing has happened'

/** The kinds and reasons that a rule is for. */
interface Wanted {
  kind?: Patterns | undefined
  reason?: Patterns | undefined
}

/**
 * Returns an object of a kind that the rule is for, as short as in tests of rules: an Event where the rule is for Events or for any kind,
 * with a reason that the rule names.
 */
export function testObject({ kind, reason }: Wanted): Record<string, unknown> {
  const metadata = {
    name: TEST_NAME,
    namespace: 'default',
    labels: { 'app.kubernetes.io/name': TEST_NAME },
    annotations: { 'kubeherald.dev/test': NOTE },
  }
  const other = kind === undefined ? undefined : otherKind(kind)
  if (other) return { ...other, metadata }
  return {
    kind: 'Event',
    metadata,
    type: 'Warning',
    reason: reason === undefined ? 'Test' : (firstLiteral(reason) ?? 'Test'),
    message: NOTE,
    regarding: { kind: 'Pod', namespace: 'default', name: TEST_NAME },
  }
}

/** The kind of an object that is not an Event, with the apiVersion of a custom resource. */
function otherKind(patterns: Patterns): { kind: string; apiVersion?: string } | undefined {
  const test = compileKinds(patterns)
  if (!test.ok) return undefined
  const matching = builtInKinds.filter((it) => test.value({ ...it, version: 'v1' }))
  if (matching.some(({ kind }) => kind === 'Event')) return undefined
  const [first] = matching
  if (first) return { kind: first.kind }
  const spelling = parseSpelling(firstLiteral(patterns) ?? '')
  if (!spelling) return undefined
  const [, version = 'v1', group = 'example.com'] =
    /^(?:(v\d+(?:(?:alpha|beta)\d+)?)\.)?(.+)$/.exec(spelling.qualifier ?? '') ?? []
  return { kind: spelling.word, apiVersion: `${group}/${version}` }
}

/** The first pattern that is a plain text. */
function firstLiteral(patterns: Patterns): string | undefined {
  const parsed = parsePatterns(patterns)
  return parsed.ok ? parsed.value.find((it) => it.form === 'literal' && !it.negated)?.text : undefined
}
