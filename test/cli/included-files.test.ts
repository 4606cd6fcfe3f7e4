import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { differences } from '../../src/app/reload.ts'
import type { CommandLog } from '../../src/cli/command-log.ts'
import { type Configuration, readConfiguration } from '../../src/cli/load-config/configuration.ts'
import { FileReads } from '../../src/cli/load-config/file-reads.ts'
import { followConfiguration } from '../../src/cli/run/follow-configuration.ts'
import type { Config } from '../../src/config/schema.ts'
import { builtInSinks } from '../../src/sink-types.ts'
import {
  type RedisSettings,
  type RedisTarget,
  renewCredentials,
  rotateCredentials,
  targetOf,
} from '../../src/store/redis/redis-target.ts'
import { waitFor } from '../wait-for.ts'

afterEach(() => vi.restoreAllMocks())

const rule = (name: string, to = 'a') => `rules: [{ name: ${name}, when: { name: ${name} }, to: ${to} }]\n`
const main = (include: string) =>
  `include: ${include}\nwatch: [Pod]\nsinks: { a: { type: stdout } }\n${rule('own')}`

function openFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'kubeherald-'))
  const path = (name: string) => join(folder, name)
  return {
    path,
    write: (name: string, text: string) => writeFile(path(name), text),
    /** Never seen empty, as a file that is being written may be. */
    async replace(name: string, text: string) {
      await writeFile(path(`${name}.new`), text)
      await rename(path(`${name}.new`), path(name))
    },
    read: () => readConfiguration(path('kubeherald.yaml'), builtInSinks),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Follows a configuration as `run` does; `names` are those of the rules in force, `rejected` why a file is not. */
function follow(configuration: Configuration) {
  let config: Config = configuration.config
  let digest = configuration.digest
  const rejected: string[] = []
  const redis: RedisTarget = targetOf(configuration.config.redis, 'key') ?? {}
  const log = { info() {}, warn() {}, error() {}, debug() {} }
  const output = { log, format: 'json', say() {} } as unknown as CommandLog
  const app = {
    async apply(next: Config) {
      if (next.rules.some(({ name }) => name === 'refused')) throw new Error('a sink cannot be opened')
      const changes = await differences(config, next)
      config = next
      return changes
    },
    reloads: {
      status: () => ({ appliedMs: 0 }),
      applied(next: string | undefined) {
        digest = next
      },
      rejected: (problem: string) => void rejected.push(problem),
    },
    renewRedis: (settings: RedisSettings) => renewCredentials(redis, settings),
    rotateRedis: (settings: RedisSettings) => rotateCredentials(redis, settings),
  }
  const following = followConfiguration(configuration, { app, output, everyMs: 5, settledMs: 10 })
  const names = () => config.rules.map(({ name }) => name).join(' ')
  return {
    names,
    rejected,
    redis,
    digest: () => digest,
    reload: following.reload,
    until: (expected: string) =>
      waitFor(() => names() === expected, { what: () => `${expected}; ${names()} ${rejected}` }),
    [Symbol.dispose]: following.close,
  }
}

test('a reload follows included files, new files of a glob, and files that are gone', async () => {
  using folder = openFolder()
  await mkdir(folder.path('teams'))
  await folder.write('teams/a.yaml', rule('a1'))
  await folder.write('kubeherald.yaml', main('teams/*.yaml'))
  const configuration = await folder.read()
  using running = follow(configuration)
  const digests = new Set([running.digest()])
  await folder.write('teams/a.yaml', rule('a2'))
  await running.until('a2 own')
  digests.add(running.digest())
  await folder.write('teams/b.yaml', rule('b1'))
  await running.until('a2 b1 own')
  digests.add(running.digest())
  await rm(folder.path('teams/a.yaml'))
  await running.until('b1 own')
  digests.add(running.digest())
  expect(digests.size).toBe(4)
  expect(running.rejected).toEqual([])
})

test('while a configuration is not good, a password of Redis that was exchanged is used all the same', async () => {
  using folder = openFolder()
  await folder.write('password', 'first')
  const file = (rules: string) =>
    `redis: { url: "redis://r:6379", password: "\${file:password}" }\nwatch: [Pod]\nsinks: { a: { type: stdout } }\n${rules}`
  await folder.write('kubeherald.yaml', file(rule('a1')))
  using running = follow(await folder.read())
  await folder.replace('kubeherald.yaml', file(rule('a2', 'nowhere')))
  await waitFor(() => running.rejected.length > 0, { what: 'a rejection' })
  await folder.replace('password', 'second')
  await waitFor(() => running.redis.password === 'second', { what: 'the new password' })
  expect(running.names()).toBe('a1')
  // One that lacks it, as half an edit does, takes nothing away.
  await folder.replace('kubeherald.yaml', file(rule('a3', 'nowhere')).replace(/, password: "[^"]*"/, ''))
  await running.reload()
  expect(running.redis.password).toBe('second')
})

test.each([
  ['has an error', rule('a2', 'nowhere')],
  ['cannot be applied', rule('refused')],
])('a file that %s adds no credential of Redis and takes none away', async (_, wrong) => {
  using folder = openFolder()
  const file = (redis: string, rules: string) =>
    `redis: { ${redis} }\nwatch: [Pod]\nsinks: { a: { type: stdout } }\n${rules}`
  const sentinel = 'name: m, nodes: [s]'
  for (const [own, ...edits] of [
    ['url: "redis://r", password: own', 'url: "redis://r"', 'url: "redis://r", username: u, password: own'],
    ['url: "rediss://kh:own@r"', 'url: "rediss://r"', 'url: "rediss://kh:own@r", tls: { servername: x }'],
    // Those of another Redis are not kept for this one.
    ['url: "redis://r"', 'url: "redis://new", username: u, password: p', 'url: "redis://r"'],
    ['cluster: { nodes: [c] }', 'cluster: { nodes: [c] }, tls: true', 'cluster: { nodes: [c] }'],
    [`sentinel: { ${sentinel}, password: own }`, `sentinel: { ${sentinel} }`],
  ] as const) {
    await folder.replace('kubeherald.yaml', file(own, rule('a1')))
    using running = follow(await folder.read())
    const before = structuredClone(running.redis)
    for (const edit of edits) {
      await folder.replace('kubeherald.yaml', file(edit, wrong))
      await running.reload()
      expect(running.redis).toEqual(before)
    }
    expect(running.rejected.length).toBeGreaterThan(0)
    // A good file is used as it is.
    await folder.replace('kubeherald.yaml', file(edits[0], rule('a3')))
    await running.reload()
    expect(running.names()).toBe('a3')
  }
})

test('an included file that is not good keeps what runs, and is told with its place', async () => {
  using folder = openFolder()
  await folder.write('a.yaml', rule('a1'))
  await folder.write('kubeherald.yaml', main('[a.yaml]'))
  using running = follow(await folder.read())
  await folder.write('a.yaml', `# a\n${rule('a2', 'nowhere')}`)
  await waitFor(() => running.rejected.length > 0, { what: 'a rejection' })
  expect(running.rejected).toEqual([`${folder.path('a.yaml')}:2:45: there is no sink "nowhere"`])
  expect(running.names()).toBe('a1 own')
  await rm(folder.path('a.yaml'))
  await waitFor(() => running.rejected.length > 1, { what: 'a second rejection' })
  expect(running.rejected[1]).toBe(
    `${folder.path('kubeherald.yaml')}:1:11: a.yaml cannot be read: there is no such file`,
  )
  await folder.write('a.yaml', rule('a3'))
  await running.until('a3 own')
})

test('the files of a ConfigMap are exchanged together', async () => {
  using folder = openFolder()
  const put = async (version: string, names: readonly string[]) => {
    await mkdir(folder.path(`..${version}`))
    await folder.write(`..${version}/kubeherald.yaml`, main('rules-*.yaml'))
    for (const name of names)
      await folder.write(`..${version}/rules-${name}.yaml`, rule(`${name}-${version}`))
    await symlink(`..${version}`, folder.path('..data_tmp'))
    await rename(folder.path('..data_tmp'), folder.path('..data'))
    for (const name of ['kubeherald.yaml', ...names.map((it) => `rules-${it}.yaml`)])
      await symlink(`..data/${name}`, folder.path(name)).catch(() => {})
  }
  await put('v1', ['x'])
  using running = follow(await folder.read())
  expect(running.names()).toBe('x-v1 own')
  await put('v2', ['x', 'y'])
  await running.until('x-v2 y-v2 own')
})

test('a hang-up reads all files at once', async () => {
  using folder = openFolder()
  await folder.write('a.yaml', rule('a1'))
  await folder.write('kubeherald.yaml', main('a.yaml'))
  using running = follow(await folder.read())
  await folder.write('a.yaml', rule('a2'))
  await running.reload()
  expect(running.names()).toBe('a2 own')
})

test('a file that includes nothing has the digest that sha256sum tells', async () => {
  using folder = openFolder()
  await folder.write('kubeherald.yaml', `watch: [Pod]\nsinks: { a: { type: stdout } }\n${rule('own')}`)
  expect((await folder.read()).digest).toMatch(/^[0-9a-f]{12}$/)
  const { createHash } = await import('node:crypto')
  const { readFileSync } = await import('node:fs')
  const sum = createHash('sha256')
    .update(readFileSync(folder.path('kubeherald.yaml')))
    .digest('hex')
  expect(sum.startsWith((await folder.read()).digest ?? '-')).toBe(true)
})

test.each([
  ['/dev/zero', 'cannot be read: it is not a plain file'],
  ['/dev', 'cannot be read: it is a directory'],
])('%s is not read as a file', async (path, why) => {
  using folder = openFolder()
  await folder.write('kubeherald.yaml', main(`[${path}]`))
  await expect(folder.read()).rejects.toThrow(`${path} ${why}`)
})

test('a thread that cannot read keeps what runs, and the next change is read', async () => {
  using folder = openFolder()
  await folder.write('kubeherald.yaml', main('[]'))
  const configuration = await folder.read()
  let fails = true
  const reread: Configuration['reread'] = async () => {
    if (fails) throw new Error('there is no room for a thread')
    return configuration.reread()
  }
  using running = follow({ ...configuration, reread })
  await folder.write('kubeherald.yaml', main('[]').replace('own', 'next'))
  await waitFor(() => running.rejected.length > 0, { what: 'a rejection' })
  expect(running.rejected).toEqual(['there is no room for a thread'])
  expect(running.names()).toBe('own')
  fails = false
  await folder.write('kubeherald.yaml', main('[]').replaceAll('own', 'last'))
  await running.until('last')
})

test('a change that is read already, for a hang-up asked for that, is not read again', async () => {
  using folder = openFolder()
  await folder.write('kubeherald.yaml', main('[]'))
  const configuration = await folder.read()
  const gate = Promise.withResolvers<void>()
  let reads = 0
  const reread: Configuration['reread'] = async () => {
    reads++
    await gate.promise
    return configuration.reread()
  }
  let looks = 0
  const { changed } = FileReads.prototype
  vi.spyOn(FileReads.prototype, 'changed').mockImplementation(async function (this: FileReads) {
    const state = await changed.call(this)
    if (state !== undefined) looks++
    return state
  })
  using running = follow({ ...configuration, reread })
  const asked = running.reload()
  await folder.replace('kubeherald.yaml', main('[]').replaceAll('own', 'next'))
  await waitFor(() => looks >= 2, { what: 'the change to be seen, and to have settled' })
  gate.resolve()
  await asked
  expect(running.names()).toBe('next')
  await folder.replace('kubeherald.yaml', main('[]').replaceAll('own', 'last'))
  await running.until('last')
  expect(reads).toBe(2)
})
