// Builds Helm and kustomize from their Go modules, and takes the CRDs of other projects out of theirs, once, into the
// user's cache folder.
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, fillFolder, telling } from './cache.mjs'
import { go } from './go.mjs'

const MODULE = fileURLToPath(new URL('../../test/servers/deploy-tools', import.meta.url))
const PACKAGES = {
  helm: 'helm.sh/helm/v4/cmd/helm',
  kustomize: 'sigs.k8s.io/kustomize/kustomize/v5',
}
/** Custom resources that the chart can make: where their definitions lie in a module. */
const DEFINITIONS = {
  'github.com/prometheus-operator/prometheus-operator': [
    'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
  ],
  'github.com/kedacore/keda/v2': ['config/crd/bases/keda.sh_scaledobjects.yaml'],
}

/** Their versions stand in the two go.mod alone; other ones are another folder. */
function folder() {
  const hash = createHash('sha256')
  for (const file of ['go.mod', 'crds/go.mod']) hash.update(readFileSync(join(MODULE, file)))
  return cacheFolder(`deploy-tools-${hash.digest('hex').slice(0, 12)}`)
}

export function hasDeployTools() {
  const files = Object.values(DEFINITIONS)
    .flat()
    .map((path) => basename(path))
  return [...Object.keys(PACKAGES), ...files].every((name) => existsSync(join(folder(), name)))
}

export async function buildDeployTools(say) {
  const to = folder()
  await fillFolder(to, { say, doing: 'builds Helm and kustomize' }, async () => {
    const missing = Object.entries(PACKAGES).filter(([name]) => !existsSync(join(to, name)))
    if (missing.length > 0) say('building Helm and kustomize for the tests with Go (2 to 4 minutes, once) …')
    for (const [name, path] of missing) await telling(say, `building ${name}`, () => build(to, name, path))
    for (const [module, paths] of Object.entries(DEFINITIONS)) await takeOut(to, module, paths)
  })
}

/** go.sum holds what a module must contain. */
async function takeOut(to, module, paths) {
  if (paths.every((path) => existsSync(join(to, basename(path))))) return
  const { Dir } = JSON.parse(await go(join(MODULE, 'crds'), ['mod', 'download', '-json', module]))
  for (const path of paths) {
    const half = join(to, `.${basename(path)}.${process.pid}`)
    copyFileSync(join(Dir, path), half)
    renameSync(half, join(to, basename(path)))
  }
}

async function build(to, name, path) {
  const half = join(to, `.${name}.${process.pid}`)
  try {
    await go(MODULE, ['build', '-trimpath', '-ldflags', '-s -w', '-o', half, path])
    renameSync(half, join(to, name))
  } finally {
    rmSync(half, { force: true })
  }
}
