import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { FileReads } from '../../src/cli/load-config/file-reads.ts'
import { readOnce } from '../../src/cli/load-config/read-configuration.ts'
import { readInWorker, reread } from '../../src/cli/load-config/reread.ts'
import { defineSink, type SinkType } from '../../src/sink/index.ts'
import { builtInSinks } from '../../src/sink-types.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubeherald-reread-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const TYPES = { builtIn: builtInSinks, plugins: {} }
const GOOD = `watch: [Pod]\nsinks: { a: { type: stdout } }\nrules: [{ name: all, to: a }]\n`

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const asked = (path: string) => ({ source: { shown: path, path }, colour: false, pluginTypes: [] })

/** A thread that does this instead. */
const thread = (name: string, code: string) => pathToFileURL(write(`${name}.mjs`, code))

test('four thousand rules are read while the loop goes on: it turns for every hundred of them', async () => {
  for (let part = 0; part < 10; part++) {
    const rules = Array.from(
      { length: 400 },
      (_, i) => `  - { name: r${part}-${i}, when: { name: w-${part}-${i} }, to: a }`,
    )
    write(`many-${part}.yaml`, `rules:\n${rules.join('\n')}\n`)
  }
  const path = write('many.yaml', 'include: ["many-*.yaml"]\nwatch: [Pod]\nsinks: { a: { type: stdout } }\n')
  let turns = 0
  let reading = true
  const turn = () => {
    turns++
    if (reading) setTimeout(turn, 1)
  }
  setTimeout(turn, 1)
  const again = await reread({ shown: path, path }, TYPES)
  reading = false
  expect(again.ok && again.config.rules.map(({ name }) => name).slice(-2)).toEqual(['r9-398', 'r9-399'])
  expect(again.ok && again.config.rules).toHaveLength(4_000)
  expect(turns).toBeGreaterThan(100)
})

test('what is wrong, the digest and the files are those that a start would find; no secret is told', async () => {
  write('token', 'hunter2-secret')
  const text = `vars: { t: "\${file:token}" }\n${GOOD.replace('name: all', 'name: all, when: { name: "/(${var:t}/" }')}`
  for (const [name, content] of [
    ['good.yaml', GOOD],
    [
      'warned.yaml',
      GOOD.replace('[Pod]', '[Pod, Deployment]').replace('name: all', 'name: all, when: { kind: Pod }'),
    ],
    ['bad.yaml', text],
    ['binary.yaml', 'a\u0000'],
  ] as const) {
    const path = write(name, content)
    const reads = new FileReads()
    const again = await reread({ shown: path, path }, TYPES)
    const once = await readOnce({ shown: path, path }, reads, { sinkTypes: builtInSinks }).catch(
      (error) => error,
    )
    if (again.ok) {
      expect(again.digest).toBe(once.digest)
      expect(again.warnings).toEqual(once.loaded.warnings)
    } else if (once instanceof Error) expect(again.problem).toBe(once.message)
    else {
      const [first] = once.loaded.problems
      expect(again.problem).toContain(`${path}:${first.line}:${first.column}: ${first.message}`)
      expect(again.shown).toContain(`${path}:${first.line}:${first.column}:`)
    }
    expect(again.reads.toData()).toEqual(reads.toData())
    expect(JSON.stringify(again.ok ? again.warnings : again)).not.toContain('hunter2')
  }
})

test("a plug-in's sink is checked by the type that was loaded at the start", async () => {
  const room = defineSink({
    apiVersion: 1,
    type: 'room',
    config: z.strictObject({ door: z.string().transform((it) => `the ${it} door`) }),
    open: () => ({ deliver: async () => [], async close() {} }),
  }) as SinkType
  const types = { builtIn: builtInSinks, plugins: { room } }
  const good = write('plugin.yaml', GOOD.replace('type: stdout', 'type: room, door: red'))
  const again = await reread({ shown: good, path: good }, types)
  expect(again.ok && again.config.sinks).toMatchObject([{ type: 'room', options: { door: 'the red door' } }])
  const bad = write('bad-plugin.yaml', GOOD.replace('type: stdout', 'type: room, door: 7'))
  const refused = await reread({ shown: bad, path: bad }, types)
  expect(!refused.ok && refused.problem).toMatch(/bad-plugin\.yaml:2:\d+: "door"/)
})

test.each([
  ['cannot start', { entry: new URL('file:///there/is/none.mjs') }, /could not be read: Cannot find module/],
  ['throws', { entry: thread('throws', 'throw new Error("no way")') }, /could not be read: no way/],
  ['ends', { entry: thread('ends', 'process.exit(0)') }, /ended too early/],
  [
    'takes too long',
    { entry: thread('long', 'setInterval(() => {}, 1000)'), timeoutMs: 50 },
    /within 0.05 seconds/,
  ],
  [
    'wants too much memory',
    {
      entry: thread('large', 'const all = []; for (;;) all.push(new Array(1e5).fill(all.length))'),
      heapMb: 20,
    },
    /needs more than 20 MB/,
  ],
])('a thread that %s is told, and nothing of it is left', async (_, limits, told) => {
  const path = write('fine.yaml', GOOD)
  await expect(readInWorker(asked(path), limits)).rejects.toThrow(told)
})

test('what a thread was to read is known afterwards, so that only a change is read again', async () => {
  const path = write('again.yaml', GOOD)
  const reads = new FileReads()
  reads.read(path)
  writeFileSync(path, `# changed\n${GOOD}`)
  expect(await reads.changed()).toBeDefined()
  const again = await reads.again()
  expect(await again.changed()).toBeUndefined()
  writeFileSync(path, GOOD)
  expect(await again.changed()).toBeDefined()
})
