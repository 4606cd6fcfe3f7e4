import { once } from 'node:events'
import { expect, test } from 'vitest'
import type { ConfigSnapshots } from '../../src/app/config-snapshot.ts'
import { deadLetterArchive } from '../../src/app/dead-letter-archive.ts'
import type { Outcome, SinkType } from '../../src/sink/index.ts'
import type { StoredDeadLetter } from '../../src/store/lanes/dead-letters.ts'

const LETTER: StoredDeadLetter = {
  ...{ id: '1-0', sink: 'hook', lane: 'hook/n0', rule: 'all', reason: 'expired', detail: '', atMs: 0 },
  ...{ count: 1, delivery: undefined, payload: Buffer.from('x') },
}

test('a disk that hangs is an error of the archive, so that the bounds of dead letters still hold', async () => {
  const hangs = {
    async open() {
      return {
        async deliver(_batch: unknown, signal: AbortSignal): Promise<Outcome[]> {
          await once(signal, 'abort')
          return [{ kind: 'retry', reason: 'unknown', detail: 'the disk hangs', scope: 'sink' }]
        },
        async close() {},
      }
    },
  } as unknown as SinkType
  const snapshots = { current: { config: { deadLetters: { archive: { file: '/x/dead.ndjson' } } } } }
  const archive = deadLetterArchive({
    snapshots: snapshots as unknown as ConfigSnapshots,
    load: async () => hangs,
    contextOf: () => ({}) as never,
    lanes: { wake() {} },
    deadlineMs: 20,
  }).current()
  if (archive?.kind !== 'file') throw new Error('it is not an archive file')
  await expect(archive.write([LETTER])).rejects.toThrow('the disk hangs')
})
