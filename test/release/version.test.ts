import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../packed.ts'

const COMPOSE = (version: string) =>
  `image: ghcr.io/kubeherald/kubeherald:\${KUBEHERALD_VERSION:-${version}}\n`
const CHART = 'deploy/helm/kubeherald/Chart.yaml'
const GOOD = {
  'package.json': '{ "version": "1.2.3" }',
  'docker-compose.yml': COMPOSE('1.2.3'),
  'CHANGELOG.md':
    '# Changelog\n\n## Unreleased\n\n* next\n\n## 1.2.3 (2026-12-01)\n\n* [FEATURE] It.\n\n## 1.2.2\n\n* Old.\n',
  [CHART]: 'version: 1.2.3\nappVersion: "1.2.3"\n',
}

/** Runs a script of the release in a repository that has these files. */
function release(script: string, argument: string, files: Record<string, string>, input = '') {
  const folder = mkdtempSync(join(tmpdir(), 'kubeherald-release-'))
  try {
    cpSync(join(ROOT, 'deploy/release'), join(folder, 'deploy/release'), { recursive: true })
    mkdirSync(join(folder, 'deploy/helm/kubeherald'), { recursive: true })
    for (const [path, text] of Object.entries({ ...GOOD, ...files })) writeFileSync(join(folder, path), text)
    const args = [join(folder, 'deploy/release', script), argument]
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', input })
    return { status, stdout, stderr }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('a tag that everything agrees with is released', () => {
  expect(release('version.mjs', 'v1.2.3', {})).toEqual({ status: 0, stdout: 'version=1.2.3\n', stderr: '' })
})

test.each([
  ['the package', { 'package.json': '{ "version": "1.2.2" }' }, 'package.json has version 1.2.2'],
  ['the compose file', { 'docker-compose.yml': COMPOSE('1.2.2') }, 'docker-compose.yml has version 1.2.2'],
  ['the chart', { [CHART]: 'version: 1.2.2\nappVersion: 1.2.3\n' }, `${CHART} has version 1.2.2`],
  ['the changelog', { 'CHANGELOG.md': '## Unreleased\n' }, 'CHANGELOG.md has nothing under "## 1.2.3"'],
])('a tag that %s does not agree with is refused', (_, files: Record<string, string>, fault) => {
  const refused = { status: 1, stdout: '', stderr: `release v1.2.3: ${fault}\n` }
  expect(release('version.mjs', 'v1.2.3', files)).toEqual(refused)
})

test('a tag that is no version is refused', () => {
  expect(release('version.mjs', 'v1.2.3-rc.1$(id)', {}).stderr).toContain('is not vX.Y.Z')
})

test.each([
  ['v1.2.3', ['v1.2.3'], true],
  ['v1.10.0', ['v1.9.9', 'v1.10.0', 'v1.2.11'], true],
  ['v1.0.1', ['v1.0.0', 'v1.0.1', 'v1.1.0'], false],
  ['v1.0.0', ['v1.0.0', 'v2.0.0-rc.1', 'nightly'], true],
])('%s of %j is the latest version: %s', (tag, tags, isLatest) => {
  const { status, stdout } = release('latest.mjs', tag, {}, `${tags.join('\n')}\n`)
  expect({ status, stdout }).toEqual({ status: 0, stdout: `latest=${isLatest}\n` })
})

test('a list of tags without that of the release is refused', () => {
  expect(release('latest.mjs', 'v1.2.3', {}, '')).toMatchObject({ status: 1, stdout: '' })
})

test('the notes are the section of the changelog', () => {
  expect(release('notes.mjs', '1.2.3', {}).stdout).toBe('* [FEATURE] It.\n')
})
