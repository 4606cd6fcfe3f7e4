import { chmodSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ApiRequest, configMap, failure } from '../servers/scripted-api.ts'
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
