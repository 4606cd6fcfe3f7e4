import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { queryObjects } from 'node:v8'
import { gunzipSync } from 'node:zlib'
import { afterEach, expect, test, vi } from 'vitest'
import file, { FileConfig, lineOf } from '../../sinks/file/index.ts'
import { faultOf, fullMs, fullName, keepFullFiles, kindOf } from '../../sinks/file/log-file.ts'
import { sampleMessages } from '../../src/sink/testkit/index.ts'
import { loadText } from '../config/load-text.ts'
import { waitFor } from '../wait-for.ts'
import { contextOf, openSink } from './bed.ts'

const never = new AbortController().signal
const DELIVERED = { kind: 'delivered' }
const rooms: string[] = []
afterEach(() => {
  vi.restoreAllMocks()
  for (const room of rooms.splice(0)) rmSync(room, { recursive: true, force: true })
})

function room() {
  const folder = mkdtempSync(join(tmpdir(), 'kubeherald-file-'))
  rooms.push(folder)
  const path = join(folder, 'events.ndjson')
  return {
    folder,
    path,
    lines: () => (existsSync(path) ? linesOf(readFileSync(path, 'utf8')) : []),
    names: () => readdirSync(folder).toSorted(),
    /** The ids in all files, the oldest first. */
    allIds: () =>
      [
        ...readdirSync(folder)
          .filter((it) => it !== 'events.ndjson')
          .toSorted(),
        'events.ndjson',
      ].flatMap((name) => {
        const bytes = readFileSync(join(folder, name))
        const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
        return linesOf(text).map((line) => (JSON.parse(line) as { id: string }).id)
      }),
  }
}

/** How many AbortSignals there are. */
const signals = () => queryObjects(AbortSignal, { format: 'count' }) as unknown as number

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '')
const idsOf = (messages: readonly { id: string }[]) => messages.map(({ id }) => id)

/** All opened files write and sync so, until the end of the test. */
async function replaceOnHandles(
  name: 'write' | 'datasync',
  how: (original: () => Promise<unknown>) => unknown,
) {
  const handle = await open('/dev/null')
  const prototype = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  const original = prototype[name] as (...args: unknown[]) => Promise<unknown>
  return vi.spyOn(prototype, name).mockImplementation(function (this: FileHandle, ...args: unknown[]) {
    return how(() => original.apply(this, args)) as never
  })
}

test('a line is the CloudEvent, byte for byte, and the next start goes on behind it', async () => {
  const { path, lines } = room()
  const batch = sampleMessages(3)
  for (const message of batch) {
    await using sink = await openSink(file, { path })
    expect(await sink.deliver([message], never)).toEqual([DELIVERED])
  }
  expect(lines()).toEqual(batch.map(({ cloudEvent }) => cloudEvent.toString()))
})

test('folders that are not there are made', async () => {
  const { folder } = room()
  const path = join(folder, 'a', 'b', 'events.ndjson')
  await using sink = await openSink(file, { path })
  expect(await sink.deliver(sampleMessages(1), never)).toEqual([DELIVERED])
  expect(readFileSync(path, 'utf8')).toContain('kit/')
})

test('a line feed between two values does not break a line', () => {
  const line = lineOf({ cloudEvent: Buffer.from('{"a":\n[1,\n2]}') })
  expect(line.toString()).toBe('{"a": [1, 2]}\n')
})

test('a line that a crash tore stays by itself: what follows can be read', async () => {
  const { path, lines } = room()
  const [first, second] = sampleMessages(2)
  writeFileSync(path, `${first!.cloudEvent}\n${second!.cloudEvent.subarray(0, 40)}`)
  await using sink = await openSink(file, { path })
  await sink.deliver([second!], never)
  const [whole, torn, again, ...rest] = lines()
  expect([whole, again, rest]).toEqual([`${first!.cloudEvent}`, `${second!.cloudEvent}`, []])
  expect(() => JSON.parse(torn!)).toThrow()
})

test('a file that would grow beyond maxSize is moved away first, and no line is lost or out of order', async () => {
  const { path, names, allIds, folder } = room()
  const batch = sampleMessages(40)
  await using sink = await openSink(file, { path, maxSize: '4KB', maxFiles: 100 })
  for (let i = 0; i < 40; i += 10) await sink.deliver(batch.slice(i, i + 10), never)
  expect(allIds()).toEqual(idsOf(batch))
  expect(names().length).toBeGreaterThan(4)
  for (const name of names()) expect(readFileSync(join(folder, name)).length).toBeLessThanOrEqual(4_000)
})

test('names of full files keep their order though the clock stands still or goes back', async () => {
  const { path, allIds } = room()
  let nowMs = Date.now()
  const batch = sampleMessages(30)
  const options = { path, maxSize: '1KB', maxFiles: 100, fsync: false }
  await using sink = await openSink(file, options, { clock: { now: () => nowMs } })
  for (const [i, message] of batch.entries()) {
    if (i === 15) nowMs -= 60_000
    await sink.deliver([message], never)
  }
  expect(allIds()).toEqual(idsOf(batch))
})

test('only maxFiles full files are kept, the newest', async () => {
  const { path, names, allIds } = room()
  const batch = sampleMessages(60)
  await using sink = await openSink(file, { path, maxSize: '2KB', maxFiles: 2 })
  for (const message of batch) await sink.deliver([message], never)
  await waitFor(() => names().length === 3, { what: () => names().join() })
  expect(allIds()).toEqual(idsOf(batch).slice(-allIds().length))
})

test('full files that a clock ahead named years later push nothing newer out', async () => {
  const { path, names, allIds } = room()
  const batch = sampleMessages(12)
  const options = { path, maxSize: '1Ki', maxFiles: 3 }
  for (const [part, nowMs] of [
    [batch.slice(0, 6), Date.parse('2036-01-01')],
    [batch.slice(6), Date.now()],
  ] as const) {
    await using sink = await openSink(file, options, { clock: { now: () => nowMs } })
    for (const message of part) await sink.deliver([message], never)
    await waitFor(() => names().length === 4, { what: () => names().join() })
  }
  expect(allIds()).toEqual(idsOf(batch).slice(-4))
})

test('full files are packed, also those that an earlier process left', async () => {
  const { path, names, allIds } = room()
  const batch = sampleMessages(30)
  const packed = () =>
    names()
      .filter((it) => it !== 'events.ndjson')
      .every((it) => it.endsWith('.gz'))
  {
    await using plain = await openSink(file, { path, maxSize: '4KB' })
    await plain.deliver(batch.slice(0, 15), never)
  }
  expect(packed()).toBe(false)
  await using sink = await openSink(file, { path, maxSize: '4KB', compress: true })
  await sink.deliver(batch.slice(15), never)
  await waitFor(packed, { what: () => names().join() })
  expect(allIds()).toEqual(idsOf(batch))
})

test('two that pack the same file at the same time do not write into each other, and none complains', async () => {
  // Processes in containers have the same id; so have a sink and the one that replaces it.
  const { path, names } = room()
  const full = fullName(path, 0)
  execFileSync('mkfifo', [full])
  // Both stay in the middle of the file as long as something may still be written to it.
  await using writer = await open(full, 'r+')
  const warnings: object[] = []
  const log = { debug() {}, info() {}, error() {}, warn: (fields: object) => void warnings.push(fields) }
  const both = [1, 2].map(() => keepFullFiles({ path, maxFiles: 3, compress: true, log }))
  for (const it of both) it.look()
  await waitFor(() => names().filter((it) => it.endsWith('.part')).length === 2, {
    what: 'both write a part',
    timeoutMs: 3_000,
  })
  await writer.close()
  await waitFor(() => names().join() === `${basename(full)}.gz`, { what: 'the packed file alone' })
  for (const it of both) await it.close()
  expect(warnings).toEqual([])
})

test('a new interval begins a new file, also when it began while nothing ran', async () => {
  const { path, names } = room()
  let nowMs = Date.now()
  const clock = { now: () => nowMs }
  const options = { path, interval: '1h' }
  {
    await using sink = await openSink(file, options, { clock })
    await sink.deliver(sampleMessages(1), never)
    nowMs += 3_600_000
    await sink.deliver(sampleMessages(1), never)
    expect(names()).toHaveLength(2)
  }
  nowMs += 3 * 3_600_000
  await using sink = await openSink(file, options, { clock })
  await sink.deliver(sampleMessages(1), never)
  expect(names()).toHaveLength(3)
})

test('a file that others moved away is not written to any more', async () => {
  const { path, folder, lines } = room()
  await using sink = await openSink(file, { path })
  await sink.deliver(sampleMessages(1), never)
  renameSync(path, join(folder, 'moved'))
  await sink.deliver(sampleMessages(1), never)
  expect(lines()).toHaveLength(1)
  rmSync(path)
  await sink.deliver(sampleMessages(1), never)
  expect(lines()).toHaveLength(1)
})

test('with fsync a delivery counts only when the disk has it', async () => {
  const { path, lines } = room()
  const disk = Promise.withResolvers<void>()
  await replaceOnHandles('datasync', () => disk.promise)
  await using sink = await openSink(file, { path })
  let done = false
  const delivery = sink.deliver(sampleMessages(1), never).finally(() => {
    done = true
  })
  await waitFor(() => lines().length === 1, { what: 'the line' })
  await new Promise(setImmediate)
  expect(done).toBe(false)
  disk.resolve()
  expect(await delivery).toEqual([DELIVERED])
})

test('without fsync nothing is asked of the disk', async () => {
  const { path } = room()
  const spy = await replaceOnHandles('datasync', (original) => original())
  await using sink = await openSink(file, { path, fsync: false })
  expect(await sink.deliver(sampleMessages(2), never)).toEqual([DELIVERED, DELIVERED])
  expect(spy).not.toHaveBeenCalled()
})

test('a disk that fails to sync has delivered nothing; it is all written again', async () => {
  const { path, lines } = room()
  const fault = Object.assign(new Error('EIO: i/o error'), { code: 'EIO' })
  const spy = await replaceOnHandles('datasync', () => Promise.reject(fault))
  await using sink = await openSink(file, { path })
  const batch = sampleMessages(2)
  const failed = {
    kind: 'retry',
    scope: 'sink',
    detail: expect.stringContaining('the disk reports'),
    ambiguous: true,
  }
  expect(await sink.deliver(batch, never)).toEqual([
    expect.objectContaining(failed),
    expect.objectContaining(failed),
  ])
  spy.mockRestore()
  expect(await sink.deliver(batch, never)).toEqual([DELIVERED, DELIVERED])
  expect(lines()).toHaveLength(4)
})

test('a write that hangs ends with its signal; what it wrote in the end is not written twice', async () => {
  const { path, lines } = room()
  const disk = Promise.withResolvers<void>()
  const spy = await replaceOnHandles('write', async (original) => {
    await disk.promise
    return original()
  })
  await using sink = await openSink(file, { path })
  const batch = sampleMessages(2)
  for (let i = 0; i < 2; i++) {
    const stop = new AbortController()
    const delivery = sink.deliver(batch, stop.signal)
    await waitFor(() => spy.mock.calls.length === 1, { what: 'the write' })
    stop.abort()
    const ambiguous = i === 0 ? { ambiguous: true } : {}
    expect(await delivery).toEqual(
      batch.map(() => expect.objectContaining({ kind: 'retry', scope: 'sink', ...ambiguous })),
    )
  }
  disk.resolve()
  expect(await sink.deliver(batch, never)).toEqual([DELIVERED, DELIVERED])
  expect(lines()).toHaveLength(2)
  expect(await sink.deliver(batch, never)).toEqual([DELIVERED, DELIVERED])
  expect(lines()).toHaveLength(4)
})

test('after a write that hung its events come one by one, between others, and are not written twice', async () => {
  const { path, allIds } = room()
  const disk = Promise.withResolvers<void>()
  const spy = await replaceOnHandles('write', async (original) => {
    await disk.promise
    return original()
  })
  await using sink = await openSink(file, { path })
  const batch = sampleMessages(3)
  const [other] = sampleMessages(1, { prefix: 'other' })
  const stop = new AbortController()
  const delivery = sink.deliver(batch, stop.signal)
  await waitFor(() => spy.mock.calls.length === 1, { what: 'the write' })
  stop.abort()
  await delivery
  disk.resolve()
  for (const message of [batch[0]!, other!, batch[1]!, batch[2]!])
    expect(await sink.deliver([message], never)).toEqual([DELIVERED])
  expect(allIds()).toEqual(idsOf([...batch, other!]))
})

/** Delivers in a process whose files may not grow beyond 1 KiB: the system takes a part, and then says no. */
test('of a batch that a full disk takes in part, only whole lines are delivered', async () => {
  const { path, lines } = room()
  const host = new URL('file-host.ts', import.meta.url).pathname
  const limited = (fsync: boolean) =>
    spawnSync('bash', ['-c', `ulimit -f 1; exec "${process.execPath}" "${host}" "${path}" ${fsync}`], {
      encoding: 'utf8',
    })
  const { stdout, stderr } = limited(false)
  expect(stderr).toBe('')
  const outcomes = JSON.parse(stdout) as { kind: string; detail?: string; scope?: string }[]
  const delivered = outcomes.findIndex(({ kind }) => kind !== 'delivered')
  expect(delivered).toBeGreaterThan(0)
  expect(outcomes.slice(delivered)).toEqual(
    outcomes
      .slice(delivered)
      .map(() =>
        expect.objectContaining({ kind: 'retry', scope: 'sink', detail: expect.stringContaining('EFBIG') }),
      ),
  )
  const whole = lines().slice(0, -1)
  expect(whole.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(
    idsOf(sampleMessages(4)).slice(0, delivered),
  )
  await using sink = await openSink(file, { path })
  expect(await sink.deliver(sampleMessages(4).slice(delivered), never)).toEqual(
    outcomes.slice(delivered).map(() => DELIVERED),
  )
  const readable = lines().filter((line) => line.startsWith('{') && line.endsWith('}}}'))
  expect(readable).toHaveLength(4)
})

test.each([
  ['ENOSPC', 'the disk is full: make room, or lower maxSize and maxFiles (ENOSPC)'],
  ['EACCES', 'permission denied: let the user that kubeherald runs as write there (EACCES)'],
  ['EROFS', 'the file system is read-only: mount a volume there that can be written to (EROFS)'],
  ['EWEIRD', 'EWEIRD'],
])('%s is told in words, and the sink waits', (code, words) => {
  expect(faultOf(Object.assign(new Error('x'), { code }), '/log/x')).toMatchObject({
    kind: 'retry',
    scope: 'sink',
    detail: `cannot write /log/x: ${words}`,
  })
})

test('what is no regular file is refused in words, whatever it is', async () => {
  const { folder } = room()
  mkdirSync(join(folder, 'sub'))
  for (const [path, words] of [
    [join(folder, 'sub'), 'it is a folder'],
    ['/dev/full', 'it is not a regular file'],
    ['/sys/kubeherald/x', 'cannot write'],
  ] as const) {
    await using sink = await openSink(file, { path })
    expect(await sink.deliver(sampleMessages(1), never)).toMatchObject([
      { kind: 'retry', scope: 'sink', detail: expect.stringContaining(words) },
    ])
  }
})

test('health says what would keep it from writing', async () => {
  const { folder, path } = room()
  writeFileSync(path, '')
  for (const bad of [join(path, 'below-a-file'), folder]) {
    await using sink = await openSink(file, { path: bad })
    expect(await sink.health?.(never)).toMatchObject({ ok: false, detail: expect.stringContaining(bad) })
  }
})

test('the example of the README works, and it names every option', async () => {
  const { folder, path } = room()
  const text = readFileSync(new URL('../../sinks/file/README.md', import.meta.url), 'utf8')
  for (const option of Object.keys(FileConfig.shape)) expect(text).toContain(`| \`${option}\` |`)
  const yaml = /```yaml\n([\s\S]*?)```/.exec(text)?.[1]?.replace('/var/log/kubeherald', folder)
  const loaded = await loadText(`watch: [Pod]\n${yaml}rules: [{ name: all, to: [archive] }]\n`)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const sink = await file.open(loaded.config.sinks[0]?.options as FileConfig, contextOf())
  expect(await sink.deliver(sampleMessages(1), never)).toEqual([DELIVERED])
  await sink.close()
  expect(readFileSync(path, 'utf8')).toContain('kit/')
})

test('a folder that the first event will make is nothing to warn of', async () => {
  const warn = vi.fn()
  const { folder } = room()
  const log = { ...contextOf().log, warn } as ReturnType<typeof contextOf>['log']
  const options = FileConfig.parse({ path: join(folder, 'not', 'yet', 'events.ndjson') })
  const sink = await file.open(options, contextOf({ log }))
  await sink.health?.(never)
  await sink.close()
  expect(warn).not.toHaveBeenCalled()
})

test('health makes no file, and warns when little room is left', async () => {
  const { folder, path, names } = room()
  await using sink = await openSink(file, { path: join(folder, 'not', 'there', 'x') })
  expect(await sink.health?.(never)).toEqual({ ok: true })
  await using large = await openSink(file, { path, maxSize: '999999GB' })
  expect(await large.health?.(never)).toMatchObject({
    ok: true,
    warnings: [expect.stringContaining('MB are free')],
  })
  expect(names()).toEqual([])
})

test('names of full files are told from others beside them', () => {
  const path = '/log/events.ndjson'
  const name = fullName(path, Date.UTC(2026, 10, 21, 9, 14, 7, 312)).slice('/log/'.length)
  expect(name).toBe('events.20261121T091407.312Z.ndjson')
  expect(kindOf(path, name)).toBe('full')
  expect(kindOf(path, `${name}.gz`)).toBe('full')
  expect(kindOf(path, `${name}.gz.12.part`)).toBe('part')
  for (const other of ['events.ndjson', 'events.ndjson.bak', `x${name}`, `${name}.bak`, 'events.2026.ndjson'])
    expect(kindOf(path, other)).toBeUndefined()
})

test('the name of a full file tells when it was full', () => {
  const atMs = Date.parse('2026-11-21T09:14:07.312Z')
  const path = '/var/log/a.b.ndjson'
  expect(fullMs(path, basename(fullName(path, atMs)))).toBe(atMs)
})

test('an abandoned part is removed, one that is being written is not', async () => {
  const { folder, path, names } = room()
  const part = `${fullName(path, 0)}.gz.1.part`
  appendFileSync(part, 'x')
  utimesSync(part, 1, 1)
  const fresh = `${fullName(path, 1)}.gz.2.part`
  appendFileSync(fresh, 'x')
  await using _sink = await openSink(file, { path })
  await waitFor(() => names().length === 1, { what: () => names().join() })
  expect(join(folder, names()[0]!)).toBe(fresh)
})

test.each<[options: object, message: string]>([
  [{ path: 'events.ndjson' }, 'path must be absolute, such as /var/log/kubeherald/events.ndjson'],
  [{ path: '/log/' }, 'path must name a file, not a folder'],
  [{ path: '/x', maxSize: 100 }, 'maxSize must be a size such as 100MB or 1GiB'],
  [{ path: '/x', maxSize: '0MB' }, 'maxSize must be more than 0'],
  [{ path: '/x', interval: '1w' }, 'interval must be minutes, hours or days, such as 15m, 1h or 1d'],
  [{ path: '/x', maxFiles: 0 }, 'maxFiles Too small: expected number to be >=1'],
])('%j: %s', (options, message) => {
  const { issues = [] } = FileConfig.safeParse(options).error ?? {}
  expect(issues.map((it) => `${it.path.join('.')} ${it.message}`)).toEqual([message])
})

test('sizes and intervals are read as people mean them', () => {
  expect(FileConfig.parse({ path: '/x' })).toEqual({
    path: '/x',
    maxSize: 100_000_000,
    maxFiles: 10,
    compress: false,
    fsync: true,
  })
  expect(FileConfig.parse({ path: '/x', maxSize: '1GiB', interval: '1d' })).toMatchObject({
    maxSize: 1024 ** 3,
    interval: 86_400_000,
  })
})

test('calls leave nothing behind, however many there are', async () => {
  const { path } = room()
  await using sink = await openSink(file, { path })
  const [message] = sampleMessages(1)
  const before = signals()
  for (let i = 0; i < 200; i++) await sink.deliver([message!], new AbortController().signal)
  await waitFor(() => signals() - before < 50, { what: () => `the end of ${signals() - before} signals` })
})
