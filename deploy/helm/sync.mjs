// Brings chart and kustomization up to date with what they repeat: the version, the image of Redis that the compose file
// pins, alerts, dashboard, the table of values in the chart's README. With --check it writes nothing, and fails when something is not.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isMap, parseDocument } from 'yaml'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CHART = 'deploy/helm/kubeherald'
const KUSTOMIZATION = 'deploy/kustomize/base/kustomization.yaml'
const REDIS = 'deploy/kustomize/components/redis/redis.yaml'
const COPIES = {
  'deploy/prometheus/alerts.yaml': `${CHART}/files/alerts.yaml`,
  'deploy/grafana/kubeherald.json': `${CHART}/files/dashboard.json`,
}

const read = (file) => readFileSync(`${ROOT}${file}`, 'utf8')
const { version } = JSON.parse(read('package.json'))
const redis = /image: redis:(\S+@sha256:[0-9a-f]{64})$/m.exec(read('docker-compose.yml'))?.[1]
if (!redis) throw new Error('docker-compose.yml pins no image of Redis')
const wanted = [
  ...Object.entries(COPIES).flatMap(([from, to]) => (existsSync(`${ROOT}${from}`) ? [[to, read(from)]] : [])),
  [`${CHART}/Chart.yaml`, withVersion(read(`${CHART}/Chart.yaml`))],
  [KUSTOMIZATION, read(KUSTOMIZATION).replace(/newTag: [^ ]+/, `newTag: ${version}`)],
  [`${CHART}/files/redis-image.txt`, `${redis}\n`],
  [
    REDIS,
    read(REDIS).replace(/image: docker.io\/library\/redis:\S+/, `image: docker.io/library/redis:${redis}`),
  ],
  [`${CHART}/README.md`, withTable(read(`${CHART}/README.md`))],
]
const stale = wanted.filter(([file, content]) => !existsSync(`${ROOT}${file}`) || read(file) !== content)
if (process.argv.includes('--check')) {
  for (const [file] of stale) console.log(`${file} is not up to date: node deploy/helm/sync.mjs`)
  process.exitCode = stale.length > 0 ? 1 : 0
} else {
  for (const [file, content] of stale) {
    writeFileSync(`${ROOT}${file}`, content)
    console.log(file)
  }
}

function withVersion(chart) {
  return chart
    .replace(/^version: .*$/m, `version: ${version}`)
    .replace(/^appVersion: .*$/m, `appVersion: "${version}"`)
}

function withTable(readme) {
  const values = parseDocument(read(`${CHART}/values.yaml`))
  const table = ['| value | default | |', '|---|---|---|', ...rowsOf(values.contents, [])].join('\n')
  return readme.replace(
    /(<!-- values -->\n)[\s\S]*(\n<!-- \/values -->)/,
    (_, begin, end) => begin + table + end,
  )
}

/** A row for each value with a comment `-- …`; what it holds is its default. */
function rowsOf(map, path) {
  return map.items.flatMap(({ key, value }, i) => {
    const name = [...path, key.value]
    const comment = key.commentBefore ?? (i === 0 ? map.commentBefore : undefined)
    const text = comment?.match(/(?:^|\n) -- ([\s\S]*)/)?.[1].replace(/\n /g, ' ')
    if (text) return [`| \`${name.join('.')}\` | ${shown(value)} | ${text.replaceAll('|', '\\|')} |`]
    if (isMap(value) && value.items.length > 0) return rowsOf(value, name)
    throw new Error(`${name.join('.')} has no comment in values.yaml`)
  })
}

function shown(value) {
  const json = JSON.stringify(value.toJSON())
  if (json === 'null' || json === '""') return ''
  return json.length > 60 ? 'see values.yaml' : `\`${json.replace(/^"(.*)"$/, '$1')}\``
}
