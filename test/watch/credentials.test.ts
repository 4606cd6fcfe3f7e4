import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { startPlugin } from '../../src/watch/client/kubeconfig.ts'
import { type ApiRequest, configMap, failure, startScriptedApi } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { kubeconfigFor, startWatchBed } from './bed.ts'
import { folder } from './folder.ts'

/** Answers 401 to every other token. */
function demand(token: () => string) {
  return ({ headers }: ApiRequest, response: ServerResponse): boolean => {
    if (headers.authorization === `Bearer ${token()}`) return false
    response.writeHead(401).end(JSON.stringify(failure(401, 'Unauthorized')))
    return true
  }
}

test('case 35: a token that was rotated in the kubeconfig is read anew after a 401', async () => {
  let valid = 'one'
  await using it = await startWatchBed({
    user: { token: 'one' },
    prepare(api) {
      api.intercept = demand(() => valid)
    },
  })
  await it.watching('10')
  valid = 'two'
  writeFileSync(it.kubeconfig, kubeconfigFor(it.api.url, { token: 'two' }))
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  it.api.current()?.reset()
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['ADDED a@11'])
})

test('case 35: a token file is read for every request', async () => {
  using files = folder()
  const tokenFile = join(files.dir, 'token')
  writeFileSync(tokenFile, 'one\n')
  let valid = 'one'
  await using it = await startWatchBed({
    user: { tokenFile },
    prepare(api) {
      api.intercept = demand(() => valid)
    },
  })
  await it.watching('10')
  valid = 'two'
  writeFileSync(tokenFile, 'two\n')
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  it.api.current()?.reset()
  await it.arrived(1)
})

test('case 36: an exec plug-in that fails on a reconnect is tried again, and the process stays alive', async () => {
  using files = folder()
  const plugin = join(files.dir, 'plugin')
  const say = (lines: string) => {
    writeFileSync(plugin, `#!/bin/sh\n${lines}\n`)
    chmodSync(plugin, 0o755)
  }
  const credential = (token: string) => {
    const text = JSON.stringify({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token, expirationTimestamp: '2001-01-01T00:00:00Z' },
    })
    return `echo '${text}'`
  }
  say(credential('one'))
  await using it = await startWatchBed({
    user: {
      exec: { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, interactiveMode: 'Never' },
    },
    prepare(api) {
      api.intercept = demand(() => 'one')
    },
  })
  await it.watching('10')
  say('exit 1')
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  it.api.current()?.reset()
  await waitFor(() => it.statuses()[0]?.lastError, { what: 'the failure in the status' })
  say(credential('one'))
  await it.arrived(1)
})

test('a token of OpenID Connect that expired is told as that, and taken anew from the kubeconfig', async () => {
  const oidc = (token: string) => ({
    'auth-provider': {
      name: 'oidc',
      config: {
        ...{ 'idp-issuer-url': 'https://127.0.0.1:1', 'client-id': 'kubectl', 'client-secret': 'hunter2' },
        ...{ 'id-token': token, 'refresh-token': 'hunter3' },
      },
    },
  })
  const later = (minutes: number) => tokenUntil(Math.floor(Date.now() / 1_000) + 60 * minutes)
  let valid = later(60)
  await using it = await startWatchBed({
    user: oidc(valid),
    prepare(api) {
      api.intercept = demand(() => valid)
    },
  })
  await it.watching('10')
  valid = later(120)
  writeFileSync(it.kubeconfig, kubeconfigFor(it.api.url, oidc(tokenUntil(1))))
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  it.api.current()?.reset()
  const told = () => it.statuses()[0]?.lastError ?? ''
  await waitFor(() => told().includes('OpenID Connect'), { what: () => `the failure; it said ${told()}` })
  expect(told()).toContain(`the kubeconfig ${it.kubeconfig} has expired and cannot be renewed`)
  expect(told()).toContain('sign in again, or use an exec plug-in')
  expect(told()).not.toContain('hunter')
  writeFileSync(it.kubeconfig, kubeconfigFor(it.api.url, oidc(valid)))
  await it.arrived(1)
})

function tokenUntil(seconds: number): string {
  const part = (content: object) => Buffer.from(JSON.stringify(content)).toString('base64url')
  return `${part({ alg: 'none' })}.${part({ exp: seconds })}.signature`
}

test('tokens are never part of an error or a status', async () => {
  await using it = await startWatchBed({
    user: { token: 'hunter2' },
    prepare(api) {
      api.intercept = demand(() => 'another')
    },
  })
  await waitFor(() => it.statuses()[0]?.lastError, { what: 'the failure in the status' })
  expect(JSON.stringify(it.statuses())).not.toContain('hunter2')
})

/** A client whose user is an exec plug-in with these lines. */
async function clientWith(lines: (dir: string) => string) {
  const stack = new AsyncDisposableStack()
  const api = stack.use(await startScriptedApi())
  const { dir } = stack.use(folder())
  const plugin = join(dir, 'plugin')
  writeFileSync(plugin, `#!/bin/sh\n${lines(dir)}\n`)
  chmodSync(plugin, 0o755)
  const kubeconfig = join(dir, 'kubeconfig')
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, interactiveMode: 'Never' }
  writeFileSync(kubeconfig, kubeconfigFor(api.url, { exec }))
  const client = connectCluster({ kubeconfig, env: {}, userAgent: 'test' })
  stack.defer(() => client.close())
  return { client, dir, plugin, kubeconfig, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const CREDENTIAL = JSON.stringify({
  apiVersion: 'client.authentication.k8s.io/v1',
  kind: 'ExecCredential',
  status: { token: 'one', expirationTimestamp: '2100-01-01T00:00:00Z' },
})

/** Undefined until the plug-in has written it. */
function pidIn(dir: string): number | undefined {
  const path = join(dir, 'pid')
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  return text.endsWith('\n') ? Number(text) : undefined
}

test('an exec plug-in runs once for all requests that wait for it', async () => {
  await using it = await clientWith((dir) => `echo run >> ${dir}/runs; sleep 0.2; echo '${CREDENTIAL}'`)
  const { signal } = new AbortController()
  const answers = await Promise.all(Array.from({ length: 10 }, () => it.client.get('/api', {}, signal)))
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
  expect(readFileSync(join(it.dir, 'runs'), 'utf8')).toBe('run\n')
})

test('an exec plug-in that does not end holds up no request beyond its limit, and no stop', async () => {
  await using it = await clientWith((dir) => `echo $$ > ${dir}/pid; exec sleep 600`)
  const { signal } = new AbortController()
  await expect(it.client.get('/api', { timeoutMs: 100 }, signal)).rejects.toThrow(/exec plug-in/)
  await expect(it.client.stream('/api', { headersTimeoutMs: 100 }, signal)).rejects.toThrow(/exec plug-in/)
  const stop = new AbortController()
  const stopped = expect(it.client.stream('/api', {}, stop.signal)).rejects.toThrow('stopped')
  stop.abort(new Error('stopped'))
  await stopped
  await waitFor(() => pidIn(it.dir), { what: 'the plug-in' })
  process.kill(pidIn(it.dir) as number)
})

test('an exec plug-in that asks for input, or fails without a message, is named in the error', async () => {
  await using it = await clientWith(() => 'read answer || exit 3')
  const error = (await it.client.get('/api', {}, new AbortController().signal).catch((it) => it)) as Error
  expect(error.message).toContain(it.plugin)
  expect(error.message).toContain(it.kubeconfig)
})

test('what an exec plug-in writes about its failure is in the error, in one line and without secrets', async () => {
  await using it = await clientWith(
    () => 'echo >&2; echo "login failed," >&2; echo "password: hunter2" >&2; exit 1',
  )
  const error = (await it.client.get('/api', {}, new AbortController().signal).catch((it) => it)) as Error
  expect(error.message).toContain('login failed, password: ')
  expect(error.message).not.toMatch(/hunter2|\n/)
})

test('an exec plug-in is ended after its time, also if a process that it started keeps its output open', async () => {
  using files = folder()
  const plugin = join(files.dir, 'plugin')
  writeFileSync(plugin, `#!/bin/sh\nsleep 600 &\necho $! > ${files.dir}/pid\nwait\n`)
  chmodSync(plugin, 0o755)
  const running = startPlugin(plugin, [], {}, 300)
  const [code, killedBy] = await once(running, 'close')
  expect({ code, killedBy }).toEqual({ code: null, killedBy: 'SIGKILL' })
  const child = pidIn(files.dir)
  if (child) process.kill(child)
})
