// Builds kube-apiserver and etcd from their Go modules, once, into the user's cache folder.
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProgram } from './program.mjs'

const VERSION = 'v1.36.3'
const MODULE = fileURLToPath(new URL('../../test/servers/kubernetes', import.meta.url))
const PACKAGES = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
}
const HEARTBEAT_MS = 30_000
const STALE_LOCK_MS = 30 * 60_000

function assets() {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  return process.env.KUBEBUILDER_ASSETS || join(cache, 'kubeherald', `kubernetes-${VERSION}`)
}

export function hasKubernetes() {
  return Object.keys(PACKAGES).every((name) => existsSync(join(assets(), name)))
}

export async function buildKubernetes(say) {
  const dir = assets()
  mkdirSync(dir, { recursive: true })
  const lock = join(dir, '.building')
  await takeLock(lock, say)
  try {
    for (const [name, path] of Object.entries(PACKAGES))
      if (!existsSync(join(dir, name))) await build(dir, name, path, say)
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

async function build(dir, name, path, say) {
  const took = name === 'etcd' ? '1 minute' : '3 to 5 minutes'
  say(`building ${name} for the tests with Go (about ${took}, once) …`)
  const startedMs = Date.now()
  const heartbeat = setInterval(
    () => say(`… still building ${name}, ${Math.round((Date.now() - startedMs) / 1_000)} s`),
    HEARTBEAT_MS,
  )
  const [major, minor] = VERSION.slice(1).split('.')
  const version = 'k8s.io/component-base/version'
  const flags = `-s -w -X ${version}.gitVersion=${VERSION} -X ${version}.gitMajor=${major} -X ${version}.gitMinor=${minor}`
  const half = join(dir, `.${name}.${process.pid}`)
  try {
    await go(['build', '-trimpath', '-ldflags', flags, '-o', half, path])
    renameSync(half, join(dir, name))
  } finally {
    clearInterval(heartbeat)
    rmSync(half, { force: true })
  }
}

async function go(args) {
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' }
  const options = { cwd: MODULE, env, stdio: ['ignore', 'ignore', 'pipe'] }
  let errors = ''
  const { code } = await runProgram('go', args, options, (child) => {
    child.stderr.on('data', (chunk) => {
      errors = (errors + chunk).slice(-2_000)
    })
  })
  if (code === 0) return
  const last = errors
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('go: downloading'))
    .slice(-3)
    .join(' | ')
  throw new Error(`go build failed: ${last || 'is the Go module proxy reachable?'}`)
}

/** Two set-ups at once build once; a lock that was left behind is taken over. */
async function takeLock(lock, say) {
  for (let waited = false; ; ) {
    try {
      mkdirSync(lock)
      return
    } catch {
      if (Date.now() - statSync(lock, { throwIfNoEntry: false })?.mtimeMs > STALE_LOCK_MS)
        rmSync(lock, { recursive: true, force: true })
      else if (!waited) say('another set-up builds kube-apiserver; waiting for it …')
      waited = true
      await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
  }
}
