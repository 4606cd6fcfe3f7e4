// Builds kube-apiserver, etcd and kubectl from their Go modules, once, into the user's cache folder.
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, fillFolder, telling } from './cache.mjs'
import { go } from './go.mjs'

const VERSION = 'v1.36.3'
const MODULE = fileURLToPath(new URL('../../test/servers/kubernetes', import.meta.url))
const PACKAGES = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
}
const TAKES = { etcd: '1 minute', 'kube-apiserver': '3 to 5 minutes', kubectl: '1 minute' }
const FOLDER = process.env.KUBEBUILDER_ASSETS || cacheFolder(`kubernetes-${VERSION}`)

export function hasKubernetes() {
  return Object.keys(PACKAGES).every((name) => existsSync(join(FOLDER, name)))
}

export async function buildKubernetes(say) {
  await fillFolder(FOLDER, { say, doing: 'builds kube-apiserver' }, async () => {
    for (const [name, path] of Object.entries(PACKAGES)) {
      if (existsSync(join(FOLDER, name))) continue
      say(`building ${name} for the tests with Go (about ${TAKES[name]}, once) …`)
      await telling(say, `building ${name}`, () => build(name, path))
    }
  })
}

async function build(name, path) {
  const [major, minor] = VERSION.slice(1).split('.')
  const version = 'k8s.io/component-base/version'
  const flags = `-s -w -X ${version}.gitVersion=${VERSION} -X ${version}.gitMajor=${major} -X ${version}.gitMinor=${minor}`
  const half = join(FOLDER, `.${name}.${process.pid}`)
  try {
    await go(MODULE, ['build', '-trimpath', '-ldflags', flags, '-o', half, path])
    renameSync(half, join(FOLDER, name))
  } finally {
    rmSync(half, { force: true })
  }
}
