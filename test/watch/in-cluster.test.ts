import fs, { writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { createAuthority } from '../servers/certificates.ts'
import { configMap, failure, type ScriptedApi } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { startWatchBed } from './bed.ts'
import { folder } from './folder.ts'

const MOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

afterEach(() => vi.unstubAllEnvs())

/** Makes a directory appear where a pod finds its service account. */
function mount(dir: string): Disposable {
  const { existsSync, readFileSync } = fs
  const at = (path: unknown) => String(path).replace(MOUNT, dir)
  const redirected = (path: unknown) => typeof path === 'string' && path.startsWith(MOUNT)
  fs.existsSync = (path) => existsSync(redirected(path) ? at(path) : path)
  fs.readFileSync = ((path: fs.PathOrFileDescriptor, ...rest: []) =>
    readFileSync(redirected(path) ? at(path) : path, ...rest)) as typeof readFileSync
  syncBuiltinESMExports()
  return {
    [Symbol.dispose]() {
      Object.assign(fs, { existsSync, readFileSync })
      syncBuiltinESMExports()
    },
  }
}

/** A bed whose watch believes that it runs in a pod. */
async function startPod(dir: string, prepare: (api: ScriptedApi) => void) {
  const authority = createAuthority('cluster authority')
  writeFileSync(join(dir, 'ca.crt'), authority.cert)
  writeFileSync(join(dir, 'namespace'), 'default')
  return startWatchBed({
    tls: authority.issue('kubernetes'),
    inCluster: true,
    serverAt({ url }) {
      const { hostname, port } = new URL(url)
      vi.stubEnv('KUBERNETES_SERVICE_HOST', hostname)
      vi.stubEnv('KUBERNETES_SERVICE_PORT', port)
      return url
    },
    env: { KUBERNETES_SERVICE_HOST: '127.0.0.1', HOME: dir },
    prepare,
  })
}

test('case 35: in a pod it uses the service account, and a token that the kubelet rotated at once', async () => {
  using files = folder()
  using _ = mount(files.dir)
  const token = (value: string) => writeFileSync(join(files.dir, 'token'), `${value}\n`)
  token('one')
  let valid = 'one'
  let refused = 0
  await using it = await startPod(files.dir, (api) => {
    api.intercept = ({ headers }, response) => {
      if (headers.authorization === `Bearer ${valid}`) return false
      refused++
      response.writeHead(401).end(JSON.stringify(failure(401, 'Unauthorized')))
      return true
    }
  })
  await it.watching('10')
  token('two')
  valid = 'two'
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  it.api.current()?.reset()
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['ADDED a@11'])
  expect(refused).toBe(0)
})

test('case 35: in a pod whose token file is missing for a moment the watch goes on once it is back', async () => {
  using files = folder()
  using _ = mount(files.dir)
  const token = join(files.dir, 'token')
  writeFileSync(token, 'one')
  await using it = await startPod(files.dir, () => {})
  await it.watching('10')
  fs.rmSync(token)
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  it.api.current()?.reset()
  await waitFor(() => it.statuses()[0]?.lastError, { what: 'the failure in the status' })
  writeFileSync(token, 'one')
  await it.arrived(1)
})
