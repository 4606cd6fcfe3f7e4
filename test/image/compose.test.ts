import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }
import { type Desk, openDesk } from '../cli/cli.ts'
import { ROOT } from '../packed.ts'
import { freePort } from '../servers/ports.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { readComposeFile, type Service } from './compose-file.ts'

const { text, services } = readComposeFile()
const PASSWORD = 'f00dcafe'.repeat(6)
const SECRETS = '/run/secrets/kubeherald'

/** A file of deploy/compose with the addresses and the secrets of this test. */
function configOf(name: string, port: number, secrets: string): string {
  const read = readFileSync(join(ROOT, 'deploy/compose', name), 'utf8')
  return read.replace('redis:6379', `127.0.0.1:${port}`).replaceAll(SECRETS, secrets)
}

let redis: RedisServer
let secrets: string
beforeAll(async () => {
  secrets = mkdtempSync(join(tmpdir(), 'kubeherald-secrets-'))
  writeFileSync(join(secrets, 'redis-password'), PASSWORD)
  // As its command in the compose file does: the file of the repository, and the password from one that only it reads.
  const conf = readFileSync(join(ROOT, 'deploy/compose/redis.conf'), 'utf8').replace(/^dir .*$/m, '')
  writeFileSync(join(secrets, 'redis.conf'), `${conf}requirepass "${PASSWORD}"\n`)
  const args = ['--include', join(secrets, 'redis.conf')]
  redis = await startRedis({ args, password: PASSWORD })
})
afterAll(async () => {
  await redis[Symbol.asyncDispose]()
  rmSync(secrets, { recursive: true, force: true })
})

test('what comes from elsewhere has a tag for people and a digest for machines', () => {
  for (const { image } of Object.values(services))
    if (!image.startsWith('ghcr.io/kubeherald/'))
      expect(image).toMatch(/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/)
  expect(services['kubeherald']?.image).toBe(
    `ghcr.io/kubeherald/kubeherald:\${KUBEHERALD_VERSION:-${manifest.version}}`,
  )
})

test.each(Object.entries(services))('%s may do no more than it must, and comes back', (name, service) => {
  expect(service.cap_drop).toEqual(['ALL'])
  expect(service.security_opt).toEqual(['no-new-privileges:true'])
  if (name !== 'kafka') expect(service.read_only).toBe(true)
  if (name === 'password') return expect(service.restart).toBe('no')
  expect(service.user ?? 'of the image').not.toMatch(/^(0|root)(:|$)/)
  expect(service.restart).toBe('unless-stopped')
  expect(service.healthcheck?.test.length).toBeGreaterThan(1)
  expect(service.mem_limit).toBeDefined()
})

test('kubeherald gets the memory that the chart gives it: a health check needs its own part of it', () => {
  const chart = parse(readFileSync(join(ROOT, 'deploy/helm/kubeherald/values.yaml'), 'utf8'))
  for (const name of ['kubeherald', 'demo'])
    expect(`${services[name]?.mem_limit}i`.toLowerCase()).toBe(chart.resources.limits.memory.toLowerCase())
})

/** Runs a health check of the file as the engine does, at another port; gives its exit code. */
async function healthOf(name: string, port: number): Promise<number | null> {
  const [kind, ...words] = services[name]?.healthcheck?.test ?? []
  const at = (text: string) => text.replaceAll('$$', '$').replaceAll(SECRETS, secrets)
  const [program = '', ...args] =
    kind === 'CMD-SHELL'
      ? ['sh', '-c', at(words[0] ?? '').replace('redis-cli', `redis-cli -p ${port}`)]
      : words.map((it) => it.replace('/nodejs/bin/node', process.execPath).replace(':9464', `:${port}`))
  const [code] = (await once(spawn(program, args, { stdio: 'ignore' }), 'close')) as [number | null]
  return code
}

test.each([
  ['answers', 200, 0],
  ['does not progress', 503, 1],
])('the health check of a kubeherald that %s', async (_, status, code) => {
  const server = createServer((_request, response) => response.writeHead(status).end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    expect(await healthOf('kubeherald', (server.address() as AddressInfo).port)).toBe(code)
  } finally {
    server.close()
  }
})

test('the health check of a kubeherald that is not there fails', async () => {
  expect(await healthOf('kubeherald', await freePort())).toBe(1)
})

test('a Redis that answers is healthy, also when its password in the file is another one by now', async () => {
  expect(await healthOf('redis', redis.port)).toBe(0)
  const file = join(secrets, 'redis-password')
  writeFileSync(file, 'another')
  try {
    expect(await healthOf('redis', redis.port)).toBe(0)
  } finally {
    writeFileSync(file, PASSWORD)
  }
  expect(await healthOf('redis', await freePort())).not.toBe(0)
})

test('ports are open to this machine alone, and Redis to nobody', () => {
  for (const { ports = [] } of Object.values(services))
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
  expect(services['redis']?.ports).toBeUndefined()
})

test('no secret stands in the file, and every file that it mounts is there', () => {
  expect(text).not.toMatch(/(password|token|secret)\s*[:=]\s*["']?[\w-]{8,}["']?$/im)
  const mounted = Object.values(services).flatMap(({ volumes = [] }) =>
    volumes.filter((it) => it.startsWith('./')),
  )
  for (const volume of mounted)
    expect(existsSync(join(ROOT, volume.split(':')[0] as string)), volume).toBe(true)
})

test('Redis runs as kubeherald needs it, with the file that the compose file mounts', async () => {
  const config = async (name: string) => ((await redis.command('CONFIG', 'GET', name)) as string[])[1]
  expect(await config('maxmemory-policy')).toBe('noeviction')
  expect(await config('maxmemory')).toBe(String(256 * 1024 * 1024))
  expect(await config('appendonly')).toBe('yes')
  expect(await config('appendfsync')).toBe('everysec')
})

test('a password of any characters is taken as it stands in its file, and no argument shows it', async () => {
  const password = `a"b\\c$d'e f\\n%s`
  const folder = mkdtempSync(join(tmpdir(), 'kubeherald-secrets-'))
  writeFileSync(join(folder, 'redis-password'), `${password}\n`)
  const script = (services['redis']?.command?.at(-1) ?? '')
    .replaceAll('$$', '$')
    .replaceAll('/tmp/', `${folder}/`)
    .replaceAll(SECRETS, folder)
    .replace(/^exec redis-server \S+/m, 'echo')
  const { stdout, stderr } = spawnSync('sh', ['-ec', script], { encoding: 'utf8' })
  expect({ stdout, stderr }).toEqual({ stdout: `--include ${folder}/password.conf\n`, stderr: '' })
  await using server = await startRedis({ args: stdout.trim().split(' '), password })
  expect(await server.command('CONFIG', 'GET', 'requirepass')).toEqual(['requirepass', password])
  rmSync(folder, { recursive: true })
})

/** For slow machines: several processes start one after the other. */
const PATIENT = { timeoutMs: 60_000 }

/** The demo of the compose file, with its configuration for this test; ended with its scope. */
function startDemo(desk: Desk) {
  const text = configOf('demo.yaml', redis.port, secrets).replace('0.0.0.0', '127.0.0.1, port: 0')
  const file = desk.write('demo.yaml', text)
  const [command, ...flags] = ((services['demo'] as Service).command ?? []).slice(0, -1)
  const program = desk.start(command as string, ...flags, file)
  return { file, program, [Symbol.asyncDispose]: () => program.end('SIGKILL') }
}

test('the demo shows what a channel would read, in the Redis of the file, and leaves nothing there', async () => {
  using desk = openDesk()
  await redis.command('SET', '{kubeherald:prod}:salt', 'of somebody else')
  await using demo = startDemo(desk)
  const { program, file } = demo
  const output = () => program.output()
  await waitFor(() => /\$ kubectl -n \w+/.test(output()), { ...PATIENT, what: output })
  expect(output()).toContain('[kubeherald-demo]')
  const status = await desk.run('status', '-c', file)
  expect(status.stdout).toContain(String(program.pid))
  const second = await desk.run('demo', '--shared-redis', '-c', file)
  expect(second).toMatchObject({ code: 1, stdout: '' })
  expect(second.stderr).toContain(`another demo (pid ${program.pid} on `)
  await program.end('SIGTERM')
  expect(output()).not.toContain(PASSWORD)
  expect(await redis.command('KEYS', '*')).toEqual(['{kubeherald:prod}:salt'])
})

test('what a killed demo left in a shared Redis is gone with the next', async () => {
  using desk = openDesk()
  await redis.command('DEL', '{kubeherald:kubeherald-demo}:instances')
  await redis.command('SET', '{kubeherald:kubeherald-demo}:lane:old', 'left behind')
  await using demo = startDemo(desk)
  const output = () => demo.program.output()
  await waitFor(() => output().includes('http '), { ...PATIENT, what: output })
  expect(await redis.command('EXISTS', '{kubeherald:kubeherald-demo}:lane:old')).toBe(0)
  await demo.program.end('SIGTERM')
})

test('--shared-redis without redis.url says what it needs', async () => {
  using desk = openDesk()
  const { code, stderr } = await desk.run('demo', '--shared-redis')
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: 'kubeherald: --shared-redis needs redis.url in the file of -c\n',
  })
})

test.each(['kubeherald.yaml', 'demo.yaml', 'demo-kafka.yaml'])('deploy/compose/%s is good', async (name) => {
  using desk = openDesk()
  const file = desk.write(name, configOf(name, redis.port, secrets))
  const { code, stderr } = await desk.run('check', '--offline', '--strict', '-c', file)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})
