import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
// @ts-expect-error a script without types
import { MALLOC, NODE_FLAGS } from '../../deploy/build/node-flags.mjs'
import manifest from '../../package.json' with { type: 'json' }
import { ROOT } from '../packed.ts'
import { all, pairs, readDockerfile, type Stage } from './dockerfile.ts'

const [build, final] = readDockerfile() as [Stage, Stage]

test('every base has a tag for people and a digest for machines', () => {
  for (const { base } of readDockerfile()) expect(base).toMatch(/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/)
})

test('it is built with the Node that the tests run on, and runs on the same major version', () => {
  const { node } = manifest.devDependencies
  expect(build.base).toMatch(new RegExp(`^node:${node.replaceAll('.', '\\.')}-`))
  expect(final.base).toContain(`/nodejs${node.split('.')[0]}-`)
})

test('it runs as nobody, from its own files, and leaves health to probes', () => {
  expect(all(final, 'USER')).toEqual(['65532:65532'])
  expect(all(final, 'COPY')).toEqual(['--from=build /out/ /'])
  expect(all(final, 'RUN')).toEqual([])
  expect(all(final, 'HEALTHCHECK')).toEqual([])
})

test('it gives Node the flags and glibc the settings that the bundle and a start from source give them', () => {
  expect(all(final, 'ENTRYPOINT')[0]).toContain(NODE_FLAGS.map((it: string) => JSON.stringify(it)).join(', '))
  const settings = Object.entries(pairs(final, 'ENV')).filter(([name]) => name.startsWith('MALLOC_'))
  expect(Object.fromEntries(settings)).toEqual(MALLOC)
})

test('it says what it is, by the names of the OCI', () => {
  const labels = pairs(final, 'LABEL')
  const prefix = 'org.opencontainers.image.'
  const names = Object.keys(labels).map((key) => key.replace(prefix, ''))
  expect(names).toEqual(
    expect.arrayContaining(['title', 'description', 'source', 'licenses', 'version', 'revision', 'created']),
  )
  expect(labels[`${prefix}description`]).toBe(manifest.description)
  expect(labels[`${prefix}licenses`]).toBe(manifest.license)
  expect(labels[`${prefix}base.name`]).toBe(final.base.split('@')[0])
})

test('the build context is what the build copies, and no secret, module or log that lies among it', () => {
  const wanted = all(build, 'COPY').flatMap((it) => it.split(' ').slice(0, -1))
  const rules = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  expect(rules[0]).toBe('*')
  expect(
    rules
      .filter((it) => it.startsWith('!'))
      .map((it) => it.slice(1))
      .toSorted(),
  ).toEqual(wanted.toSorted())
  expect(rules).toEqual(expect.arrayContaining(['**/node_modules', '**/.env', '**/*.log']))
})
