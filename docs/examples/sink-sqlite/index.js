// @ts-check
import { defineSink } from 'kubeherald/sink'
import Database from 'libsql'
import * as z from 'zod'

const TABLE = `CREATE TABLE IF NOT EXISTS events (
  id TEXT PRIMARY KEY, time TEXT, cluster TEXT, type TEXT, kind TEXT, namespace TEXT, name TEXT, rule TEXT, event TEXT)`
// The id of a repeat is the same: it is there already.
const INSERT = `INSERT OR IGNORE INTO events (id, time, cluster, type, kind, namespace, name, rule, event)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Keeps every event as a row of the table `events`; a row is there once, however often its delivery is repeated. */
export default defineSink({
  apiVersion: 1,
  type: 'sqlite',
  config: z.strictObject({ path: z.string().min(1, 'is empty: name the file of the database') }),
  maxBatch: 500,
  // SQLite has one writer: one lane.
  lane: () => '0',
  open: ({ path }) => openDatabase(path),
})

/**
 * @param {string} path
 * @returns {import('kubeherald/sink').Sink}
 */
function openDatabase(path) {
  /** @type {Database.Database | undefined} */
  let database
  let closed = false

  /** Not before it is needed: what is wrong with the file must not keep others from starting. */
  function opened() {
    if (database) return database
    const fresh = new Database(path)
    try {
      // With FULL, what is committed survives a power cut.
      fresh.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
      fresh.exec(TABLE)
    } catch (error) {
      fresh.close()
      throw error
    }
    database = fresh
    return fresh
  }

  /** @param {readonly import('kubeherald/sink').Message[]} batch */
  function insert(batch) {
    const open = opened()
    const statement = open.prepare(INSERT)
    open.exec('BEGIN IMMEDIATE')
    try {
      for (const { id, rule, event, cloudEvent } of batch) {
        const { time, cluster, type, kind, namespace, name } = event
        statement.run(id, time, cluster, type, kind, namespace ?? null, name, rule, cloudEvent.toString())
      }
      open.exec('COMMIT')
    } catch (error) {
      // All or nothing: no row of a batch that failed is there.
      open.exec('ROLLBACK')
      throw error
    }
  }

  return {
    async deliver(batch, signal) {
      const stopped = closed
        ? 'the sink is closed'
        : signal.aborted
          ? 'stopped before it was written'
          : undefined
      if (stopped) return batch.map(() => retry('unknown', stopped))
      try {
        insert(batch)
        return batch.map(() => ({ kind: 'delivered' }))
      } catch (error) {
        return batch.map(() => retry('server-error', `cannot write ${path}: ${messageOf(error)}`))
      }
    },

    async health(signal) {
      signal.throwIfAborted()
      try {
        opened().exec('BEGIN IMMEDIATE; ROLLBACK')
        return { ok: true }
      } catch (error) {
        return { ok: false, reason: 'server-error', detail: `cannot write ${path}: ${messageOf(error)}` }
      }
    },

    async close() {
      closed = true
      database?.close()
      database = undefined
    },
  }
}

/**
 * @param {import('kubeherald/sink').Reason} reason
 * @param {string} detail
 * @returns {import('kubeherald/sink').Outcome}
 */
function retry(reason, detail) {
  return { kind: 'retry', reason, detail, scope: 'sink' }
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error)
}
