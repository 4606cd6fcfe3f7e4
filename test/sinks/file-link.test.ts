import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import file from '../../sinks/file/index.ts'
import { sampleMessages } from '../../src/sink/testkit/index.ts'
import { waitFor } from '../wait-for.ts'
import { openSink } from './bed.ts'

const never = new AbortController().signal
const rooms: string[] = []
afterEach(() => {
  for (const room of rooms.splice(0)) rmSync(room, { recursive: true, force: true })
})

/** `logs/events.ndjson` is a symbolic link to `disk/audit.ndjson`, which is not there yet. */
function linked() {
  const folder = mkdtempSync(join(tmpdir(), 'kubeherald-link-'))
  rooms.push(folder)
  const [logs, disk] = [join(folder, 'logs'), join(folder, 'disk')]
  for (const it of [logs, disk]) mkdirSync(it)
  const path = join(logs, 'events.ndjson')
  symlinkSync('../disk/audit.ndjson', path)
  const namesOnDisk = () => readdirSync(disk).toSorted()
  return {
    folder,
    path,
    disk,
    namesOnDisk,
    namesInLogs: () => readdirSync(logs),
    /** The ids in all files on the disk, the oldest first: the current file is the last. */
    ids: () =>
      [...namesOnDisk().filter((it) => it !== 'audit.ndjson'), 'audit.ndjson'].flatMap((name) =>
        readFileSync(join(disk, name), 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => (JSON.parse(line) as { id: string }).id),
      ),
  }
}

test('a path that is a symbolic link stays one: all files are where it leads', async () => {
  const { path, ids, namesInLogs, namesOnDisk } = linked()
  const batch = sampleMessages(20)
  await using sink = await openSink(file, { path, maxSize: '2KB', maxFiles: 100 })
  for (const message of batch) expect(await sink.deliver([message], never)).toEqual([{ kind: 'delivered' }])
  expect(lstatSync(path).isSymbolicLink()).toBe(true)
  expect(namesInLogs()).toEqual(['events.ndjson'])
  expect(namesOnDisk().length).toBeGreaterThan(2)
  expect(ids()).toEqual(batch.map(({ id }) => id))
})

test('full files are tidied up where the symbolic link leads', async () => {
  const { path, ids, namesOnDisk } = linked()
  const batch = sampleMessages(20)
  await using sink = await openSink(file, { path, maxSize: '1KB', maxFiles: 2 })
  for (const message of batch) await sink.deliver([message], never)
  await waitFor(() => namesOnDisk().length === 3, { what: () => namesOnDisk().join() })
  expect(ids()).toEqual(batch.map(({ id }) => id).slice(-ids().length))
})

/** Delivers four messages in a process for which permissions hold: root is refused nothing. */
function deliveredWithoutRights(path: string): { kind: string; reason?: string }[] {
  const host = new URL('file-host.ts', import.meta.url).pathname
  const user = process.getuid?.() === 0 ? ['65534'] : []
  const { stdout, stderr } = spawnSync(process.execPath, [host, path, 'true', ...user], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return JSON.parse(stdout) as { kind: string }[]
}

test.each(['', '{"id":"earlier"}\n'])(
  'a link may lead into a folder that may only be traversed, to a file with "%s"',
  (content) => {
    const { folder, path, disk, ids } = linked()
    const target = join(disk, 'audit.ndjson')
    writeFileSync(target, content)
    chmodSync(target, 0o666)
    chmodSync(folder, 0o755)
    chmodSync(disk, 0o111)
    const outcomes = deliveredWithoutRights(path)
    chmodSync(disk, 0o755)
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array(4).fill('delivered'))
    expect(ids().slice(-4)).toEqual(sampleMessages(4).map(({ id }) => id))
  },
)

test('a file in a folder that may be written and not read is not taken for durable, also by the next process', () => {
  const { folder, path, disk } = linked()
  chmodSync(folder, 0o755)
  chmodSync(disk, 0o333)
  const refused = expect.objectContaining({ kind: 'retry', scope: 'sink', reason: 'auth' })
  for (let process = 0; process < 2; process++)
    expect(deliveredWithoutRights(path)).toEqual(Array(4).fill(refused))
  chmodSync(disk, 0o755)
})

test('health looks where a link leads: no folder is made there', async () => {
  const { path, disk } = linked()
  await using sink = await openSink(file, { path })
  expect(await sink.health?.(never)).toEqual({ ok: true })
  rmSync(disk, { recursive: true })
  expect(await sink.health?.(never)).toMatchObject({ ok: false, reason: 'config' })
  expect(await sink.deliver(sampleMessages(1), never)).toMatchObject([{ kind: 'retry', reason: 'config' }])
})
