import { expect, test } from 'vitest'
import type { Evaluator } from '../../src/model/change.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { CatchUp } from '../../src/watch/reflector/progress.ts'
import { configMap } from '../servers/scripted-api.ts'
import { limitedRouting, smallLimits } from '../store/limits-bed.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed, type WatchBedOptions } from './bed.ts'

/** When the time of a limit is over, something may have happened that nobody has read yet. */

const FOR_EVER = 600_000
const name = (it: string) => `lasting-${it}`

/** A process was stopped while `lasting-a` held; its time is over when the next one starts. */
async function startOverdue(timing: WatchBedOptions['timing'] = {}) {
  const routing = limitedRouting(smallLimits({ lastMs: 3_600_000, impatient: true }))
  const options: WatchBedOptions = { routing, timing: { settleMs: FOR_EVER, ...timing } }
  const it = await startWatchBed(options)
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap(name('a'), 11))
  const ledger = () => readLedger(it.reader, it.keys, { verify: true })
  await waitFor(async () => (await ledger()).rules['lasting']?.waiting === 1, { what: 'it to wait' })
  await it.stop()
  const [timers = ''] = await it.reader.keys(it.keys.ownLimitTimers('*'))
  await it.reader.zadd(timers, 1, `uid-of-${name('a')}:lasting`)
  // Of all resources: this one's may never get there.
  it.api.resourceVersion = '90'
  const seen = it.api.watches().length
  return {
    ...it,
    ledger,
    use(next: Evaluator): void {
      options.routing = next
    },
    rule: async () => (await ledger()).rules['lasting'],
    current: () => it.statuses().every(({ current }) => current === true),
    reopened: () => waitFor(() => it.api.watches().length > seen, { what: 'the watch of the next process' }),
  }
}

test.concurrent('what ended while nobody watched is read first, and nothing of it is told', async () => {
  await using it = await startOverdue()
  // The server takes its time.
  it.api.script((watch) => {
    const send = () => {
      watch.frame('DELETED', configMap(name('a'), 12))
      watch.frame('BOOKMARK', configMap('', 13))
    }
    setTimeout(send, 200)
  })
  it.start()
  await waitFor(async () => (await it.rule())?.waiting === 0, { what: 'the end' })
  await waitFor(it.current, { what: 'all to be read' })
  expect(await it.enqueued()).toEqual([])
  expect(await it.rule()).toMatchObject({ matched: 1, sent: 0, suppressed: { for: 1 } })
  expect(await it.ledger()).toMatchObject({ balanced: true, verified: true })
})

test.concurrent('it is told when nothing came for a while', async () => {
  await using it = await startOverdue({ settleMs: 300 })
  let openedMs = Number.POSITIVE_INFINITY
  // The server knows when the watch began; a look at it may be late.
  it.api.script(() => {
    openedMs = performance.now()
  })
  it.start()
  await it.arrived(1)
  expect(performance.now() - openedMs).toBeGreaterThan(200)
  expect(await it.enqueued()).toEqual(['ADDED a@11'])
})

test.concurrent('it is told when a bookmark says that all is read', async () => {
  await using it = await startOverdue()
  it.start()
  await it.reopened()
  it.api.current()?.frame('ADDED', configMap('x', 12))
  await waitFor(async () => (await it.position()) === '12', { what: 'the change' })
  expect(it.current()).toBe(false)
  expect(await it.rule()).toMatchObject({ waiting: 1 })
  it.api.current()?.frame('BOOKMARK', configMap('', 13))
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['ADDED x@12', 'ADDED a@11'])
})

test.concurrent('what is read before the watch has caught up is marked, and nothing after it', async () => {
  await using it = await startOverdue()
  const routing = limitedRouting(smallLimits({ lastMs: 3_600_000, impatient: true }))
  const marks = new Map<string, boolean | undefined>()
  it.use({
    ...routing,
    evaluate(source, transitions) {
      for (const { name, isCatchUp } of transitions) marks.set(name, isCatchUp)
      return routing.evaluate(source, transitions)
    },
  })
  it.start()
  await it.reopened()
  it.api.current()?.frame('ADDED', configMap('x', 12))
  await waitFor(async () => (await it.position()) === '12', { what: 'the change' })
  it.api.current()?.frame('BOOKMARK', configMap('', 13))
  await waitFor(it.current, { what: 'all to be read' })
  it.api.current()?.frame('ADDED', configMap('y', 14))
  await waitFor(async () => (await it.position()) === '14', { what: 'the next change' })
  expect(Object.fromEntries(marks)).toEqual({ x: true, y: undefined })
})

test.concurrent('it is told when the watch is where the server stood before it was opened', async () => {
  await using it = await startOverdue()
  it.api.resourceVersion = '20'
  it.start()
  await it.reopened()
  it.api.current()?.frame('ADDED', configMap('x', 15))
  await waitFor(async () => (await it.position()) === '15', { what: 'the first change' })
  expect(it.current()).toBe(false)
  it.api.current()?.frame('ADDED', configMap('y', 20))
  await it.arrived(3)
  expect(await it.enqueued()).toEqual(['ADDED x@15', 'ADDED y@20', 'ADDED a@11'])
})

test.concurrent('after a new list all is read that happened before it', async () => {
  await using it = await startOverdue()
  const gone = { code: 410, reason: 'Expired', message: 'too old', kind: 'Status' }
  it.api.script((watch) => watch.frame('ERROR', gone))
  it.api.objects = [configMap(name('a'), 11)]
  it.api.resourceVersion = '30'
  it.start()
  await it.arrived(1)
  expect(it.api.lists().length).toBeGreaterThan(1)
  expect(await it.enqueued()).toEqual(['ADDED a@11'])
})

test.concurrent('what happened while a list was read is read before a limit is decided', async () => {
  await using it = await startOverdue()
  const gone = { code: 410, reason: 'Expired', message: 'too old', kind: 'Status' }
  it.api.script(
    (watch) => watch.frame('ERROR', gone),
    (watch) => {
      watch.frame('ADDED', configMap('x', 35))
      setTimeout(() => watch.frame('DELETED', configMap(name('a'), 40)), 200)
    },
  )
  it.api.onList = ({ query }) => {
    const probed = query.get('limit') === '1'
    const items = probed ? [] : [configMap(name('a'), 11)]
    return { body: { metadata: { resourceVersion: probed ? '40' : '30' }, items } }
  }
  it.start()
  await waitFor(async () => (await it.rule())?.waiting === 0, { what: 'the end' })
  expect(await it.rule()).toMatchObject({ matched: 1, sent: 0, suppressed: { for: 1 } })
})

test.concurrent('of Events, which have neither bookmarks nor a pause, each watch catches up', async () => {
  await using it = await startWatchBed({ entries: [{ kind: 'Event' }], timing: { settleMs: FOR_EVER } })
  const event = (name: string, version: number) => ({ ...configMap(name, version), kind: 'Event' })
  await it.watching('10')
  it.api.current()?.frame('ADDED', event('a', 11))
  await waitFor(async () => (await it.position()) === '11', { what: 'the first change' })
  it.api.resourceVersion = '20'
  it.api.current()?.end()
  await it.watching('11')
  it.api.current()?.frame('ADDED', event('b', 15))
  await waitFor(async () => (await it.position()) === '15', { what: 'the second change' })
  expect(it.statuses()).toMatchObject([{ current: false }])
  it.api.current()?.frame('ADDED', event('c', 20))
  await waitFor(() => it.statuses().every(({ current }) => current === true), { what: 'all to be read' })
})

test.concurrent('a watch that breaks is behind until it is open again', async () => {
  await using it = await startOverdue()
  it.api.resourceVersion = '11'
  it.start()
  await it.arrived(1)
  await waitFor(it.current, { what: 'all to be read' })
  it.api.intercept = (_request, response) => {
    response.destroy()
    return true
  }
  it.api.current()?.reset()
  await waitFor(() => it.statuses().every(({ current }) => current === false), {
    what: 'the watch to be behind',
  })
})

test.concurrent('what begins to wait while the watch is open is told in time, without another word of the server', async () => {
  await using it = await startOverdue()
  it.api.resourceVersion = '11'
  it.start()
  await it.arrived(1)
  // The wait has to be seen, also where the process pauses.
  it.use(limitedRouting(smallLimits({ lastMs: 4_000 })))
  it.api.current()?.frame('ADDED', configMap(name('b'), 12))
  await waitFor(async () => (await it.rule())?.waiting === 1, { what: 'the next to wait' })
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['ADDED a@11', 'ADDED b@12'])
})

test.concurrent('nothing is decided while the collection is known to be ahead of the watch', async () => {
  const routing = limitedRouting(smallLimits({ lastMs: 1_500 }))
  const timing = { settleMs: 100, probeAfterMs: 300, stalledMs: 2_000 }
  await using it = await startWatchBed({ routing, timing })
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap(name('a'), 11))
  const rule = async () => (await readLedger(it.reader, it.keys, { verify: true })).rules['lasting']
  await waitFor(async () => (await rule())?.waiting === 1, { what: 'it to wait' })
  // It is gone, and the watch does not show it.
  it.api.resourceVersion = '20'
  await it.watching('20')
  await waitFor(async () => (await rule())?.waiting === 0, { what: 'the end' })
  expect(await it.enqueued()).toEqual([])
  expect(await rule()).toMatchObject({ matched: 1, sent: 0, suppressed: { for: 1 } })
})

/** Commits wait while `hold` is set. */
function holding() {
  const state = { hold: undefined as Promise<void> | undefined, begun: 0 }
  const wrap: WatchBedOptions['wrap'] = (store) => ({
    ...store,
    async open(source, signal) {
      const session = await store.open(source, signal)
      const commit = session.commit.bind(session)
      session.commit = async (...args) => {
        state.begun++
        await state.hold
        return commit(...args)
      }
      return session
    },
  })
  return { state, wrap }
}

/** A commit waits from before the time of `lasting-a` is over until after it. `meanwhile` comes while it does. */
async function whileHeld(meanwhile: (frame: (type: string, object: object) => void) => void) {
  const { state, wrap } = holding()
  const lastMs = 3_000
  const routing = limitedRouting(smallLimits({ lastMs }))
  const it = await startWatchBed({ routing, timing: { settleMs: FOR_EVER }, wrap })
  await it.watching('10')
  const frame = (type: string, object: object) => void it.api.current()?.frame(type, object)
  frame('ADDED', configMap(name('a'), 11))
  frame('BOOKMARK', configMap('', 11))
  const rule = async () => (await readLedger(it.reader, it.keys, { verify: true })).rules['lasting']
  await waitFor(async () => (await rule())?.waiting === 1, { what: 'it to wait' })
  const { promise, resolve } = Promise.withResolvers<void>()
  state.hold = promise
  const { begun } = state
  const asked = () => it.api.requests.filter(({ query }) => query.get('limit') === '1').length
  const before = asked()
  frame('ADDED', configMap('x', 12))
  await waitFor(() => state.begun > begun, { what: 'the commit' })
  meanwhile(frame)
  await new Promise((over) => setTimeout(over, lastMs + 500))
  state.hold = undefined
  resolve()
  await waitFor(async () => (await rule())?.waiting === 0, { what: 'the end' })
  return { ...it, rule, asked: () => asked() - before }
}

test.concurrent('what came during a commit is read before a limit is decided', async () => {
  await using it = await whileHeld((frame) => frame('DELETED', configMap(name('a'), 13)))
  expect(await it.enqueued()).toEqual(['ADDED x@12'])
  expect(await it.rule()).toMatchObject({ matched: 1, sent: 0, suppressed: { for: 1 } })
})

test.concurrent('when more came during a commit than is taken at once, all of it is read before a limit is decided', async () => {
  await using it = await whileHeld((frame) => {
    const data = { large: 'x'.repeat(900_000) }
    for (let i = 0; i < 12; i++) frame('ADDED', { ...configMap(`large-${i}`, 13 + i), data })
    frame('DELETED', configMap(name('a'), 30))
    frame('BOOKMARK', configMap('', 30))
  })
  expect(await it.rule()).toMatchObject({ matched: 1, sent: 0, suppressed: { for: 1 } })
  // Where does the server stand?
  expect(it.asked()).toBeGreaterThan(0)
})

test.concurrent('when more came than is taken at once, all is read where the server stands then, not at a bookmark of before', () => {
  const it = new CatchUp(undefined, FOR_EVER)
  const at = (resumeFrom: string) => it.read({ resumeFrom, bookmarked: true })
  it.opened('10')
  at('11')
  expect(it.isCurrent).toBe(true)
  it.heldUp()
  expect(it.isCurrent).toBe(false)
  it.aim('30')
  at('29')
  expect(it.isCurrent).toBe(false)
  at('30')
  expect(it.isCurrent).toBe(true)
  it.heldUp()
  it.aim(undefined)
  at('31')
  expect(it.isCurrent).toBe(true)
})
