import { generateKeyPairSync } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { waitFor } from '../wait-for.ts'
import { freePort } from './ports.ts'
import { type Program, startProgram } from './process.ts'

export interface Kubernetes extends AsyncDisposable {
  readonly url: string
  /** etcd's HTTP address. */
  readonly etcdUrl: string
  /** A kubeconfig file of an administrator. */
  readonly kubeconfig: string
  /** A kubeconfig file of a user with no permissions but those given by RBAC: `plain`, `other`. */
  kubeconfigOf(user: string): string
  /** JSON in, JSON out, as administrator; throws on a status that is no 2xx. */
  request: ApiRequest
  /** The same of another server. */
  requestAt(url: string): ApiRequest
  /** SIGKILL. */
  killApiServer(): Promise<void>
  /** SIGTERM. */
  stopApiServer(): Promise<void>
  startApiServer(): Promise<void>
  /** One more API server on the same etcd, with the same users and certificates. */
  addApiServer(): Promise<ApiServer>
  /** The administrator's kubeconfig for another address of the same servers. */
  kubeconfigAt(url: string): string
  /** Makes etcd forget its history; the API server still has what it remembers itself. */
  compactEtcd(): Promise<void>
  /** Compacts etcd's history and restarts the API server: every older position is a 410 from now on. */
  compact(): Promise<void>
  /** A copy of etcd's data. */
  snapshot(): Promise<string>
  /** Puts a copy back, as after a disaster. */
  restore(snapshot: string): Promise<void>
}

export type ApiRequest = (method: string, path: string, body?: unknown) => Promise<unknown>

export interface ApiServer {
  readonly port: number
  /** Ends it and waits until it is gone. */
  end(signal: NodeJS.Signals): Promise<void>
}

export interface KubernetesOptions {
  /** More flags for kube-apiserver; later ones win. */
  flags?: readonly string[]
}

const VERSION = 'v1.36.3'
const USERS = ['admin', 'plain', 'other']
/** Looks in a quicker succession would take processor time from the servers that start. */
const START_LOOK_MS = 50

/** Where the binaries of kube-apiserver and etcd lie: $KUBEBUILDER_ASSETS, else the cache that the set-up fills. */
export function kubernetesAssets(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return process.env['KUBEBUILDER_ASSETS'] || join(cache, 'kubeherald', `kubernetes-${VERSION}`)
}

/** Is the real thing there? Without it (no Go to build it) its suites are skipped, and the summary says so. */
export function hasKubernetes(): boolean {
  return ['etcd', 'kube-apiserver'].every((name) => existsSync(join(kubernetesAssets(), name)))
}

/** A real kube-apiserver on a real etcd, without the rest of a cluster. */
export async function startKubernetes({ flags = [] }: KubernetesOptions = {}): Promise<Kubernetes> {
  const assets = kubernetesAssets()
  if (!hasKubernetes()) throw new Error(`there is no kube-apiserver or no etcd in ${assets}`)
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-kubernetes-'))
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const data = join(dir, 'etcd')
  const etcdUrl = `http://127.0.0.1:${etcdPort}`
  const url = `https://127.0.0.1:${port}`
  const agent = new Agent({ connect: { rejectUnauthorized: false }, connections: 64 })
  writeKeys(dir)
  let etcd: Program
  let apiServer: Program
  const added: Program[] = []

  async function startEtcd(): Promise<void> {
    const peer = `http://127.0.0.1:${peerPort}`
    etcd = startProgram(join(assets, 'etcd'), [
      ...['--data-dir', data, '--unsafe-no-fsync', '--log-level', 'error', '--name', 'test'],
      ...['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
      ...[
        '--listen-peer-urls',
        peer,
        '--initial-advertise-peer-urls',
        peer,
        '--initial-cluster',
        `test=${peer}`,
      ],
    ])
    await waitFor(() => isUp(`${etcdUrl}/health`) || failed(etcd), {
      everyMs: START_LOOK_MS,
      what: () => `etcd; it said ${etcd.output()}`,
    })
  }

  async function startApiServer(): Promise<void> {
    apiServer = launch(port)
    await ready(apiServer, url)
  }

  /** With a heap that may grow: collections of it are a fifth of the processor time of a start. */
  function launch(port: number): Program {
    const args = [
      ...['--etcd-servers', etcdUrl, '--etcd-compaction-interval', '0', '--bind-address', '127.0.0.1'],
      ...['--secure-port', String(port), '--cert-dir', dir, '--token-auth-file', join(dir, 'tokens.csv')],
      ...['--service-account-issuer', 'https://kubernetes.default.svc'],
      ...[
        '--service-account-key-file',
        join(dir, 'sa.pub'),
        '--service-account-signing-key-file',
        join(dir, 'sa.key'),
      ],
      ...['--authorization-mode', 'RBAC', '--service-cluster-ip-range', '10.0.0.0/24'],
      ...['--disable-admission-plugins', 'ServiceAccount', '--shutdown-delay-duration', '0s'],
      // Without it a SIGTERM takes the server a minute while a watch is open.
      ...['--shutdown-watch-termination-grace-period', '2s'],
      ...flags,
    ]
    return startProgram(join(assets, 'kube-apiserver'), args, { env: { ...process.env, GOGC: '400' } })
  }

  async function ready(server: Program, at: string): Promise<void> {
    await waitFor(async () => (await isReady(at)) || failed(server), {
      timeoutMs: 60_000,
      everyMs: START_LOOK_MS,
      what: () => `kube-apiserver; it said ${server.output().slice(-2_000)}`,
    })
  }

  async function isReady(at: string): Promise<boolean> {
    for (const path of ['/readyz', '/api/v1/namespaces/default', '/api/v1/namespaces/kube-system']) {
      const answer = await send('GET', path, undefined, at).catch(() => undefined)
      if (answer?.status !== 200) return false
    }
    return true
  }

  async function send(
    method: string,
    path: string,
    body?: unknown,
    at = url,
  ): Promise<{ status: number; text: string }> {
    const headers = {
      authorization: 'Bearer admin',
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    }
    const payload = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await request(`${at}${path}`, {
      dispatcher: agent,
      method: method as 'GET',
      headers,
      ...payload,
    })
    return { status: answer.statusCode, text: await answer.body.text() }
  }

  function requestAt(at: string): ApiRequest {
    return async (method, path, body) => {
      const { status, text } = await send(method, path, body, at)
      if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 500)}`)
      return text.startsWith('{') ? JSON.parse(text) : text
    }
  }

  async function compactEtcd(): Promise<void> {
    const revision = await currentRevision(etcdUrl)
    await post(`${etcdUrl}/v3/kv/compaction`, { revision, physical: true })
  }

  await startEtcd()
  await startApiServer()
  const removeDir = () => rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
  process.on('exit', removeDir)
  const kubernetes: Kubernetes = {
    url,
    etcdUrl,
    kubeconfig: writeKubeconfig(dir, url, 'admin'),
    kubeconfigOf: (user) => writeKubeconfig(dir, url, user),
    request: requestAt(url),
    requestAt,
    killApiServer: () => apiServer.end('SIGKILL'),
    stopApiServer: () => apiServer.end('SIGTERM'),
    startApiServer,
    async addApiServer() {
      const port = await freePort()
      const program = launch(port)
      added.push(program)
      await ready(program, `https://127.0.0.1:${port}`)
      return { port, end: program.end }
    },
    kubeconfigAt: (at) => writeKubeconfig(dir, at, 'admin', 'elsewhere'),
    compactEtcd,
    async compact() {
      await compactEtcd()
      await apiServer.end('SIGKILL')
      await startApiServer()
    },
    async snapshot() {
      const copy = mkdtempSync(join(dir, 'snapshot-'))
      await etcd.end('SIGTERM')
      cpSync(data, copy, { recursive: true })
      await startEtcd()
      return copy
    },
    async restore(snapshot) {
      await apiServer.end('SIGKILL')
      await etcd.end('SIGKILL')
      rmSync(data, { recursive: true, force: true })
      mkdirSync(data)
      cpSync(snapshot, data, { recursive: true })
      await startEtcd()
      await startApiServer()
    },
    async [Symbol.asyncDispose]() {
      for (const server of [apiServer, ...added]) await server.end('SIGKILL')
      await etcd.end('SIGKILL')
      await agent.destroy()
      process.off('exit', removeDir)
      removeDir()
    },
  }
  return kubernetes
}

async function currentRevision(etcdUrl: string): Promise<string> {
  const answer = (await post(`${etcdUrl}/v3/kv/range`, { key: Buffer.from('/').toString('base64') })) as {
    header: { revision: string }
  }
  return answer.header.revision
}

async function post(url: string, body: object): Promise<unknown> {
  return (await request(url, { method: 'POST', body: JSON.stringify(body) })).body.json()
}

function isUp(url: string): Promise<boolean> {
  return request(url).then(
    async ({ statusCode, body }) => {
      await body.dump()
      return statusCode === 200
    },
    () => false,
  )
}

function failed(program: Program): false {
  if (program.ended()) throw new Error(`it ended: ${program.output().slice(-2_000)}`)
  return false
}

/** Signs the tokens of service accounts, for all servers of this process. */
let keys: { publicKey: string; privateKey: string } | undefined

function writeKeys(dir: string): void {
  keys ??= generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  writeFileSync(join(dir, 'sa.key'), keys.privateKey)
  writeFileSync(join(dir, 'sa.pub'), keys.publicKey)
  const lines = USERS.map((user) => `${user},${user},${user}${user === 'admin' ? ',"system:masters"' : ''}`)
  writeFileSync(join(dir, 'tokens.csv'), `${lines.join('\n')}\n`)
}

function writeKubeconfig(dir: string, server: string, user: string, name = user): string {
  const file = join(dir, `${name}.kubeconfig`)
  const ca = readFileSync(join(dir, 'apiserver.crt')).toString('base64')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user } }],
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': ca } }],
    users: [{ name: user, user: { token: user } }],
  }
  writeFileSync(file, JSON.stringify(config))
  return file
}
