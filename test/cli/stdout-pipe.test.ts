import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startDemoCluster } from '../../src/demo/cluster.ts'
import { programMain } from '../program.ts'
import { waitFor } from '../wait-for.ts'
import { openDesk } from './cli.ts'

/** A kubeherald that prints what happens in a cluster where something always does, or the demo with its own configuration. */
async function startPrinting(...args: string[]) {
  await using opened = new AsyncDisposableStack()
  const cluster = opened.use(await startDemoCluster({ random: Math.random, clock: Date }))
  const desk = opened.use(openDesk())
  desk.write(
    'kubeherald.yaml',
    `kubernetes: { kubeconfig: "${cluster.kubeconfig}" }
server: { port: 0 }
watch: [{ kind: Pod, initial: emit }, Event, Deployment]
sinks: { screen: { type: stdout } }
rules: [{ name: all, to: [screen] }]
`,
  )
  const child = spawn(process.execPath, [programMain(), ...args], {
    cwd: `${desk.dir}/work`,
    env: desk.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  opened.defer(() => void child.kill('SIGKILL'))
  const said = { text: '' }
  child.stderr.on('data', (chunk) => {
    said.text += chunk
  })
  const all = opened.move()
  return { child, said, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

test('events are lines of JSON on standard output, logs are on standard error, and a reader that pauses loses nothing', async () => {
  await using it = await startPrinting()
  const { child, said } = it
  const output = child.stdout.setEncoding('utf8')
  let text = ''
  output.on('data', (chunk) => {
    text += chunk
  })
  const count = () => text.split('\n').length - 1
  await waitFor(() => count() >= 5, { timeoutMs: 20_000, what: () => `five events; ${said.text}` })
  output.pause()
  const before = count()
  // The cluster goes on, and so does the process.
  await waitFor(() => output.readableLength > 0, { timeoutMs: 20_000, what: 'what was not read' })
  output.resume()
  await waitFor(() => count() >= before + 3, { timeoutMs: 20_000, what: 'what came meanwhile' })
  const ended = once(child, 'close')
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  const events = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(events.every(({ specversion }) => specversion === '1.0')).toBe(true)
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length)
  expect(said.text).toContain('started')
  expect(said.text).not.toContain('specversion')
})

test.each([[[]], [['demo']]])(
  'a reader that goes away, as head does, is the end and no error: %j',
  async (args) => {
    await using it = await startPrinting(...args)
    const { child, said } = it
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
    child.stdout.destroy()
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(said.text).toContain(args.length > 0 ? 'kubeherald stopped' : 'nobody reads the output any more')
    expect(said.text).not.toMatch(/EPIPE.*at /s)
  },
)

test('a reader of standard error that has gone changes no exit code', async () => {
  using desk = openDesk()
  const child = spawn(process.execPath, [programMain(), 'check', '--config', 'missing.yaml'], {
    cwd: `${desk.dir}/work`,
    env: desk.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  child.stderr?.destroy()
  expect(await once(child, 'close')).toEqual([2, null])
})

test.runIf(process.platform === 'linux')('output that a full disk does not take is a failure', async () => {
  using desk = openDesk()
  const disk = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [programMain(), 'schema'], {
    cwd: desk.cwd,
    env: desk.env,
    stdio: ['ignore', disk, 'pipe'],
  })
  const stderr = text(child.stderr as Readable)
  const [code] = await once(child, 'close')
  closeSync(disk)
  expect({ code, stderr: await stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/full|no space/) })
})
