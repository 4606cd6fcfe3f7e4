// @ts-check
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { conformance, sampleMessages, testContext } from 'kubeherald/sink/testkit'
import Database from 'libsql'
import sqlite from './index.js'

/** A database of its own, and a second connection that looks into it and can lock it. */
function startTarget() {
  const folder = mkdtempSync(join(tmpdir(), 'sink-sqlite-'))
  const path = join(folder, 'events.db')
  const other = new Database(path)
  other.exec('PRAGMA journal_mode = WAL')
  let locked = false
  return {
    options: { path },
    received() {
      const [table] = other.prepare("SELECT name FROM sqlite_master WHERE name = 'events'").all()
      if (!table) return []
      const rows = /** @type {{ id: string }[]} */ (
        other.prepare('SELECT id FROM events ORDER BY rowid').all()
      )
      return rows.map(({ id }) => id)
    },
    faults: {
      refuse() {
        other.exec('BEGIN EXCLUSIVE')
        locked = true
      },
      restore() {
        if (locked) other.exec('ROLLBACK')
        locked = false
      },
    },
    forget: () => void other.exec('DELETE FROM events'),
    stop() {
      other.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

describe('what kubeherald asks of a sink', () => {
  for (const { name, run } of conformance(sqlite, { start: startTarget })) {
    test(name, async (context) => {
      const result = await run()
      if (result.kind === 'skipped') context.skip(result.why)
    })
  }
})

test('a repeat makes no second row', async () => {
  const target = startTarget()
  const sink = await sqlite.open(target.options, testContext())
  const batch = sampleMessages(3)
  const never = new AbortController().signal
  for (let i = 0; i < 2; i++)
    assert.deepEqual(await sink.deliver(batch, never), Array(3).fill({ kind: 'delivered' }))
  assert.deepEqual(
    target.received(),
    batch.map(({ id }) => id),
  )
  await sink.close()
  target.stop()
})
