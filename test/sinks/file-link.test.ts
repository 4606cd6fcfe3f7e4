import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
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
    path,
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
