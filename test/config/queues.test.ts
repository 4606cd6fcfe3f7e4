import { expect, test } from 'vitest'
import { boundsOf } from '../../src/app/redis.ts'
import { loadText, problemsOf } from './load-text.ts'

/** Line 2 is the sink `s`, line 3 `deadLetters:`. */
const config = (queue: string, deadLetters = '{}', more = '') => `watch: [Event]
sinks: { s: { type: stdout, queue: ${queue} }, archive: { type: stdout }${more} }
deadLetters: ${deadLetters}
rules: [{ name: all, to: s }]`

const WITH_ARCHIVE = '{ archive: { sink: archive } }'

test.each([
  ['{}', WITH_ARCHIVE],
  ['{ maxAge: 3d, maxBytes: 512MB }', WITH_ARCHIVE],
  ['{ maxAge: 1m }', '{ maxAge: 30d, maxBytes: 1GiB, archive: { sink: archive } }'],
])('good bounds: queue %s, deadLetters %s', async (queue, deadLetters) => {
  expect(await problemsOf(config(queue, deadLetters))).toEqual([])
})

test('sizes are decimal, binary, or quantities as in Kubernetes', async () => {
  const sizes = { '256MB': 256e6, '256MiB': 2 ** 28, '256Mi': 2 ** 28, '1Gi': 2 ** 30, '2048Ki': 2 ** 21 }
  for (const [size, bytes] of Object.entries(sizes)) {
    const loaded = await loadText(`history: { keep: 7d, maxBytes: ${size} }\n${config('{}', WITH_ARCHIVE)}`)
    expect([size, loaded.ok && loaded.config.history]).toMatchObject([size, { maxBytes: bytes }])
  }
  const [problem] = await problemsOf(config('{ maxBytes: 256M }', WITH_ARCHIVE))
  expect(problem).toContain('must be a size')
})

test('an archive may be a file, of a size of its own', async () => {
  const archive = '{ archive: { file: /var/log/dead.ndjson, maxSize: 10MB, maxFiles: 3 } }'
  expect(await problemsOf(config('{}', archive))).toEqual([
    expect.stringContaining('no rule sends anything to "archive"'),
  ])
})

test.each([
  ['{ maxAge: 0s }', '"maxAge" must be at least 1m'],
  ['{ maxAge: 5s }', '"maxAge" must be at least 1m'],
  ['{ maxAge: "-5m" }', '"maxAge" must be a duration from 1m to 365d'],
  ['{ maxAge: 24 }', '"maxAge" needs a unit'],
  ['{ maxBytes: 0MB }', '"maxBytes" must be a size from 1MB to 1024GiB'],
  ['{ maxBytes: -4MB }', '"maxBytes" must be a size from 1MB to 1024GiB'],
  ['{ maxBytes: 4 }', '"maxBytes" must be a size from 1MB to 1024GiB'],
  ['{ maxByte: 4MB }', 'unknown key "maxByte"'],
])('queue %s is refused at its place', async (queue, message) => {
  const [problem, ...more] = await problemsOf(config(queue, WITH_ARCHIVE))
  expect(more).toEqual([])
  expect(problem).toMatch(/^error 2:\d+ /)
  expect(problem).toContain(message)
})

test.each([
  ['{ maxAge: 0m }', '"maxAge" must be at least 1m'],
  ['{ maxBytes: 0MB }', '"maxBytes" must be a size'],
  ['{ archive: {} }', 'needs "file" or "sink"'],
  ['{ archive: { file: dead.ndjson } }', '"file" must be absolute'],
  ['{ archive: { file: /a.ndjson, sink: archive } }', '"sink" does not go with "file"'],
  ['{ archive: { sink: archive, maxSize: 1MB } }', '"maxSize" needs "file" in the same map'],
  ['{ archive: { sink: archve } }', 'there is no sink "archve"'],
  [
    '{ archive: { sink: s } }',
    '"s" would archive its own dead letters in itself: the rule on line 4 sends to it',
  ],
])('deadLetters %s is refused at its place', async (deadLetters, message) => {
  const problems = (await problemsOf(config('{}', deadLetters))).filter((it) => it.startsWith('error'))
  expect(problems).toHaveLength(1)
  expect(problems[0]).toMatch(/^error 3:\d+ /)
  expect(problems[0]).toContain(message)
})

test('an archive that needs more than its section says is refused', async () => {
  const more = ', bus: { type: kafka, brokers: ["kafka:9092"] }'
  const [problem] = await problemsOf(config('{}', '{ archive: { sink: bus } }', more))
  expect(problem).toMatch(/^error 3:\d+ .*"bus" .*topic/)
})

test('bounds are no options of the sink: one that changes does not make it another sink', async () => {
  const [small, large] = await Promise.all(
    ['{ maxBytes: 1MB }', '{ maxBytes: 9MB }'].map((queue) => loadText(config(queue, WITH_ARCHIVE))),
  )
  if (!small?.ok || !large?.ok) throw new Error('a good configuration was refused')
  const [first, second] = [small.config.sinks[0], large.config.sinks[0]]
  expect(first?.queue).toEqual({ maxBytes: 1e6 })
  expect(second?.queue).toEqual({ maxBytes: 9e6 })
  expect(first?.source).toBe(second?.source)
  expect(boundsOf(small.config)).toEqual([
    { name: '/etc/kubeherald/kubeherald.yaml:2:48 sinks.s.queue.maxBytes', bytes: 1e6 },
  ])
})
