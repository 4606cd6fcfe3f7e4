// node deploy/release/version.mjs TAG   Prints version=X.Y.Z. Exit code 1 when what is released says something else.
import { readText, sectionOf } from './changelog.mjs'

const CHART = 'deploy/helm/kubeherald/Chart.yaml'

const tag = process.argv[2] ?? ''
const version = /^v(\d+\.\d+\.\d+)$/.exec(tag)?.[1]
const manifest = JSON.parse(readText('package.json')).version
const compose = /kubeherald:\$\{KUBEHERALD_VERSION:-(\S+)\}/.exec(readText('docker-compose.yml'))?.[1]
const chart = readText(CHART)
const faults = [
  !version && `the tag "${tag}" is not vX.Y.Z`,
  manifest !== version && `package.json has version ${manifest}`,
  compose !== version && `docker-compose.yml has version ${compose}`,
  ...['version', 'appVersion'].map((key) => {
    const value = new RegExp(`^${key}: "?([^"\\s]+)"?`, 'm').exec(chart)?.[1]
    return value !== version && `${CHART} has ${key} ${value}`
  }),
  !sectionOf(readText('CHANGELOG.md'), version) && `CHANGELOG.md has nothing under "## ${version}"`,
].filter(Boolean)
for (const fault of faults) console.error(`release ${tag}: ${fault}`)
if (faults.length > 0) process.exit(1)
console.log(`version=${version}`)
