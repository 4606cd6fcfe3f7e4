import type { Explanations } from './explained.ts'

const GIVEN: Explanations = {
  object: 'A file with an object, or the object; what an API server fills in may be left out.',
  old: 'The object before the change; default: what was given before of the same one.',
  type: 'Default: MODIFIED when it was given before or has old, else ADDED.',
  synthesized: 'It was not seen as it happened, but found by comparing.',
  at: ['When: so long after the beginning, or a time with its zone.', '5m', '2026-11-21T22:30:00Z'],
  times: 'It happens so often.',
  every: ['With so much time in between.', '10s'],
  namespaceLabels: ["Labels of the object's namespace.", { env: 'prod' }],
  'namespaceLabels.*': 'A text.',
  surroundings: [
    'What is known besides from then on: namespaces, owners, objects that Events are about.',
    [{ kind: 'Namespace', name: 'shop', labels: { env: 'prod' } }],
  ],
  'surroundings.kind': ['A kind.', 'Namespace'],
  kind: ['Of the object.', 'Event'],
}

const EXPECT: Explanations = {
  at: ['Up to when; default: up to what is given at this place of the list.', '10m'],
  rule: ['These rules match.', 'crash-loops'],
  to: ['It is sent to these sinks, and to no others; with rule, by it.', ['oncall']],
  text: ['A pattern on what people read.', '*crash-looping*'],
  severity: 'Of every message.',
  suppressed: 'The limit that holds it back, for now or for good.',
  dropped: 'Whether a rule drops it.',
  none: 'Nothing is sent.',
  notices: 'A digest, or that something is over.',
  messages: 'How many are sent, over all sinks.',
}

function under(prefix: string, table: Explanations): Explanations {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [`${prefix}.${key}`, value]))
}

/** Keys of a test. */
export const TESTS: Explanations = {
  'tests.name': ['What it shows.', 'a third back-off reaches on-call'],
  'tests.given': 'A file, an object, a change, or a list of them, one after the other.',
  ...under('tests.given', GIVEN),
  'tests.surroundings': 'Objects known besides: Namespaces with their labels, owners.',
  'tests.surroundings.kind': ['Of the object.', 'Namespace'],
  'tests.expect': [
    'What must come of it; in a list, each is about what came since the one before.',
    { rule: 'crash-loops', to: ['oncall'] },
  ],
  ...under('tests.expect', EXPECT),
}
