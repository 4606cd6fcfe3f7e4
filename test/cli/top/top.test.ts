import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPaint } from '../../../src/cli/output/colour.ts'
import { figuresOf } from '../../../src/cli/top/figures.ts'
import { layOut, shares } from '../../../src/cli/top/layout.ts'
import { silentLog } from '../../../src/observe/log.ts'
import { keysOf } from '../../../src/store/keys.ts'
import { readStatus } from '../../../src/store/ledger.ts'
import { publishReport } from '../../../src/store/process-reports.ts'
import { openRedis } from '../../../src/store/redis/connection.ts'
import { checkRedis } from '../../../src/store/redis/requirements.ts'
import { programMain } from '../../program.ts'
import { startRedis } from '../../servers/redis.ts'
import { waitFor } from '../../wait-for.ts'
import { configuration, openDesk } from '../cli.ts'
import { runHere } from '../here.ts'

const HOSTILE = 'r\u001b[2J\nALL WELL\u202e'
const keys = keysOf('here')

async function openState() {
  const stack = new AsyncDisposableStack()
  const desk = stack.use(openDesk())
  const server = stack.use(await startRedis())
  const redis = openRedis(server.url, 'work', silentLog)
  stack.defer(() => redis.disconnect())
  await checkRedis({ redis, keys })
  const sinks = { bus: 40, oncall: 7 }
  for (const [sink, pending] of Object.entries(sinks)) {
    await redis.hset(keys.pending, `${sink}/n1`, pending)
    await redis.xadd(keys.lane(`${sink}/n1`), '*', 'n', pending, 't', Date.now() - 90_000, 'z', 'x')
    await redis.hset(keys.sinkLedger(sink), { enqueued: 1_000, delivered: 1_000 - pending })
  }
  await redis.hset(keys.sources, 'pods#1', JSON.stringify({ title: 'pods (all namespaces)' }))
  await redis.hset(keys.watchLedger('pods#1'), { observed: 9_000, unmatched: 8_000, matched: 1_000 })
  await redis.zadd(keys.rules, Date.now() - 150_000, 'a-rule-with-quite-a-long-name-of-its-own-indeed')
  await redis.hset(keys.ruleLedger('a-rule-with-quite-a-long-name-of-its-own-indeed'), {
    ...{ matched: 1_000, sent: 990, 'suppressed:throttle': 10 },
  })
  const watch = { key: 'pods#1', title: 'pods (all namespaces)', phase: 'watching' as const }
  await publishReport(redis, keys, {
    ...{ id: 'one', role: 'all', version: '1', host: 'h', pid: 7, startedMs: 0, atMs: Date.now() },
    watches: [{ ...watch, resourceVersion: '5', lastContactMs: Date.now(), aliveUntilMs: 0, ready: true }],
    sinks: [
      { sink: 'bus', healthy: true, quarantined: 0, failingTargets: 0 },
      {
        sink: 'oncall',
        healthy: false,
        quarantined: 0,
        failingTargets: 0,
        lastError: HOSTILE,
        lastErrorMs: 1,
      },
    ],
  })
  desk.write('kubeherald.yaml', configuration(`cluster: here\nredis: { url: "${server.url}" }`))
  return { desk, redis, server, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

let it: Awaited<ReturnType<typeof openState>>
beforeAll(async () => {
  it = await openState()
})
afterAll(() => it?.[Symbol.asyncDispose]())

/** Something happens between two refreshes. */
async function happen(): Promise<void> {
  await it.redis.hincrby(keys.sinkLedger('bus'), 'enqueued', 500)
  await it.redis.hincrby(keys.sinkLedger('bus'), 'delivered', 500)
  await it.redis.hincrby(keys.watchLedger('pods#1'), 'observed', 700)
  await it.redis.hincrby(keys.watchLedger('pods#1'), 'unmatched', 700)
}

test('rates are those of the ledger between two reports, and what needs attention comes first', async () => {
  const first = await readStatus(it.redis, keys, { verify: false, now: 10_000 })
  await happen()
  const second = await readStatus(it.redis, keys, { verify: false, now: 12_000 })
  expect(figuresOf(first, undefined).sinks[0]).toMatchObject({ sink: 'oncall', deliveredPerSecond: null })
  expect(figuresOf(second, first)).toMatchObject({
    ...{ processes: 1, balanced: true, deadLetters: 0 },
    total: { observedPerSecond: 350, deliveredPerSecond: 250, pending: 47 },
    sinks: [
      { sink: 'oncall', health: 'failing', deliveredPerSecond: 0, pending: 7 },
      { sink: 'bus', health: 'ok', enqueuedPerSecond: 250, deliveredPerSecond: 250, pending: 40 },
    ],
    watches: [{ watch: 'pods (all namespaces)', phase: 'watching', observedPerSecond: 350 }],
    rules: [{ matchedPerSecond: 0, suppressedPerSecond: 0 }],
  })
  // A counter that falls, as after a failover of Redis, is not a rate.
  expect(figuresOf(first, { ...second, atMs: 9_000 }).total.deliveredPerSecond).toBe(0)
})

test.each([
  [80, 24],
  [40, 10],
  [20, 3],
])('in %i columns and %i rows nothing is wider or longer, nor moves the cursor', async (columns, rows) => {
  const report = await readStatus(it.redis, keys, { verify: false, now: 10_000 })
  const size = { columns, rows }
  const lines = layOut(figuresOf(report, undefined), {
    ...{ cluster: 'here', size, paint: createPaint(false), footer: 'q quits' },
  })
  expect(lines.length).toBeLessThanOrEqual(rows)
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns)
  expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u202e]/)
  expect(lines.at(-1)).toMatch(/^q quits/)
})

test('small tables are whole, large ones share the rest', () => {
  expect(shares([3, 100, 100], 43)).toEqual([3, 20, 20])
  expect(shares([1, 1, 1], 50)).toEqual([1, 1, 1])
  expect(shares([5, 5, 5], 4)).toEqual([2, 1, 1])
  expect(shares([5, 0, 5], -3)).toEqual([0, 0, 0])
})

test('in a pipe it prints one table, or one line of JSON, for each refresh', async () => {
  const [plain, json] = [
    await runHere(it.desk, 'top', '--count', '2', '--interval', '1s'),
    await runHere(it.desk, 'top', '--count', '2', '--interval', '1s', '-o', 'json'),
  ]
  expect(plain.stdout.match(/^SINK /gm)).toHaveLength(2)
  expect(plain.stdout).not.toContain('\u001b')
  const lines = json.stdout.trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).total.deliveredPerSecond)).toEqual([null, 0])
  expect((await runHere(it.desk, 'top', '--interval', 'soon')).code).toBe(2)
})

const ENTER = '\u001b[?1049h'
const LEAVE = '\u001b[?1049l'

/** A shell on a terminal of 80 columns that runs `top`, and then shows the state of the terminal. */
function onTerminal(pidFile: string): { child: ChildProcess; output(): string } {
  const top = `${process.execPath} ${programMain()} top --interval 1s`
  const shell = `stty cols 80 rows 24; sh -c 'echo $$ > ${pidFile}; exec ${top}'; echo "code $?"; stty -a`
  const child = spawn('script', ['-qfec', shell, '/dev/null'], {
    env: { ...it.desk.env, TERM: 'xterm', SHELL: '/bin/sh' },
    cwd: it.desk.cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout?.on('data', (data) => {
    output += data
  })
  return { child, output: () => output }
}

/** The last figures stay meanwhile, and go on when it is back. */
async function redisIsAway(output: () => string): Promise<void> {
  const last = () => output().split('\u001b[H').at(-1) ?? ''
  await it.server.kill()
  await waitFor(() => /SINK.*Redis cannot be read/s.test(last()), { what: last })
  await it.server.restart()
  await waitFor(() => /SINK.*q quits/s.test(last()), { what: last })
}

test.runIf(process.platform === 'linux' && existsSync('/usr/bin/script')).each([
  ['q', 0],
  ['\u0003', 0],
  ['SIGTERM', 0],
] as const)('on a terminal it is drawn in place, and %j leaves the terminal as it was', async (how, code) => {
  const pidFile = join(it.desk.dir, 'top.pid')
  const { child, output } = onTerminal(pidFile)
  const frames = () => output().split('\u001b[H').length - 2
  await waitFor(() => frames() >= 2, { timeoutMs: 30_000, what: () => `two refreshes: ${output()}` })
  if (how === 'q') await redisIsAway(output)
  if (how === 'SIGTERM') process.kill(Number(readFileSync(pidFile, 'utf8')), how)
  else child.stdin?.write(how)
  await once(child, 'close')

  const [before = '', screen = '', after = '', ...more] = output().split(/\u001b\[\?1049[hl]/)
  expect([before.includes('SINK'), more]).toEqual([false, []])
  expect(output().indexOf(ENTER)).toBeLessThan(output().indexOf(LEAVE))
  expect(screen).toMatch(/SINK +HEALTH/)
  // Cleared once, when it begins: later refreshes overwrite.
  expect(screen.split('\u001b[2J')).toHaveLength(2)
  // The cursor and line breaks are back, and NO_COLOR holds.
  expect(screen).toMatch(/\u001b\[\?7h\u001b\[\?25h$/)
  expect(screen).not.toMatch(/\u001b\[[0-9;]*m/)
  const lines = screen.split(/\r+\n|\u001b\[H/).map((line) => line.replace(/\u001b\[[?0-9]*[A-Za-z]/g, ''))
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80)
  expect(after).toContain(`code ${code}`)
  for (const mode of ['icanon', 'echo', 'isig']) expect(after).toMatch(new RegExp(`\\s${mode}\\s`))
})
