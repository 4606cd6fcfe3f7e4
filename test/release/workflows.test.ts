import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { ROOT } from '../packed.ts'

interface Step {
  uses?: string
  run?: string
  env?: Record<string, string>
  with?: Record<string, unknown>
}

interface Job {
  uses?: string
  permissions?: Record<string, string>
  'timeout-minutes'?: number
  steps?: Step[]
}

const FOLDER = join(ROOT, '.github/workflows')
const workflows = readdirSync(FOLDER).map((name) => {
  const text = readFileSync(join(FOLDER, name), 'utf8')
  const parsed = parse(text) as {
    on: object
    permissions: object
    concurrency: object
    jobs: Record<string, Job>
  }
  const jobs = Object.entries(parsed.jobs)
  return { name, text, parsed, jobs, steps: jobs.flatMap(([, { steps = [] }]) => steps) }
})

test.each(workflows)(
  '$name: actions are pinned to a commit, and a comment names its version',
  ({ text, steps }) => {
    const lines = text.split('\n').filter((line) => /\buses: /.test(line) && !line.includes('uses: ./'))
    for (const line of lines) expect(line).toMatch(/uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
    expect(lines).toHaveLength(steps.filter(({ uses }) => uses).length)
  },
)

test.each(workflows)(
  '$name: nothing is permitted that a job does not ask for, and every job ends',
  ({ parsed, jobs }) => {
    expect(parsed.permissions).toEqual({})
    expect(parsed.concurrency).toBeDefined()
    expect(Object.keys(parsed.on)).not.toContain('pull_request_target')
    for (const [name, job] of jobs) {
      expect(job.permissions, name).toBeDefined()
      if (!job.uses) expect(job['timeout-minutes'], name).toBeGreaterThan(0)
    }
  },
)

test.each(workflows)(
  '$name: commands get values by their environment, never as text of the script',
  ({ steps }) => {
    for (const { run } of steps) expect(run ?? '').not.toContain('${{')
  },
)

test.each(workflows)('$name: a checkout leaves no token behind', ({ steps }) => {
  for (const step of steps.filter(({ uses }) => uses?.startsWith('actions/checkout@')))
    expect(step.with).toMatchObject({ 'persist-credentials': false })
})

test('pull requests get no permission to write', () => {
  for (const { parsed, jobs } of workflows.filter(({ parsed }) => 'pull_request' in parsed.on))
    for (const [name, job] of jobs) {
      const { if: condition } = job as { if?: string }
      if (condition === "github.event_name == 'push'") continue
      expect(job.permissions, `${Object.keys(parsed.on)} ${name}`).toEqual({ contents: 'read' })
    }
})

test('no code of dependencies runs where something can be published or signed', () => {
  const trusted = workflows.flatMap(({ name, jobs }) =>
    jobs.flatMap(([job, { permissions = {}, steps = [] }]) =>
      Object.values(permissions).includes('write') ? [{ job: `${name} ${job}`, steps }] : [],
    ),
  )
  expect(trusted.map(({ job }) => job)).toContain('release.yml npm')
  for (const { job, steps } of trusted)
    for (const { run = '' } of steps)
      expect(run, job).not.toMatch(/\b(npx|npm (ci|install|i|run|exec|test|start|rebuild))\b/)
})

test('what is released is made of nothing that another run left in a cache', () => {
  const { steps } = workflows.find(({ name }) => name === 'release.yml') as (typeof workflows)[number]
  expect(steps.filter(({ uses }) => uses?.startsWith('actions/cache'))).toEqual([])
  const nodes = steps.filter(({ uses }) => uses?.startsWith('actions/setup-node@'))
  expect(nodes.length).toBeGreaterThan(1)
  for (const step of nodes) {
    expect(step.with).toMatchObject({ 'package-manager-cache': false })
    expect(step.with).not.toHaveProperty('cache')
  }
  const builds = steps.filter(({ uses }) => uses?.startsWith('docker/build-push-action@'))
  expect(builds).not.toEqual([])
  for (const step of builds) expect(step.with).toMatchObject({ 'no-cache': true })
})

test('a download names its artifact, and a build leaves no record that cannot be unpacked among them', () => {
  const all = workflows.flatMap(({ steps }) => steps)
  const builds = all.filter(({ uses }) => uses?.startsWith('docker/build-push-action@'))
  expect(builds.length).toBeGreaterThan(1)
  for (const { env } of builds) expect(env).toMatchObject({ DOCKER_BUILD_RECORD_UPLOAD: 'false' })
  const uploads = all.filter(({ uses }) => uses?.startsWith('actions/upload-artifact@'))
  const names = uploads.map((step) => step.with?.['name'])
  const downloads = all.flatMap(({ run = '' }) => run.match(/gh run download .*/g) ?? [])
  expect(downloads.length).toBeGreaterThan(1)
  for (const command of downloads) {
    const named = [...command.matchAll(/--name (\S+)/g)].map(([, name]) => name)
    expect(named, command).not.toEqual([])
    expect(names, command).toEqual(expect.arrayContaining(named))
  }
})

test('no workflow names the host of a package registry: npm publishes to its default, by trusted publishing', () => {
  const hosts =
    /\b(registry\.npmjs\.(org|com)|npm\.pkg\.github\.com|registry\.yarnpkg\.com|npmmirror\.com|pypi\.org)\b/
  for (const { name, text, steps } of workflows) {
    expect(text, name).not.toMatch(hosts)
    for (const step of steps) {
      expect(step.with ?? {}, name).not.toHaveProperty('registry-url')
      expect(step.run ?? '', name).not.toMatch(/--registry\b|npm config set registry|npm_config_registry/)
    }
  }
  const settings = readFileSync(join(ROOT, '.npmrc'), 'utf8')
  expect(settings).not.toMatch(/^\s*(@[^:]+:)?registry\s*=|_authToken/m)
  const { publishConfig = {} } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  expect(publishConfig).not.toHaveProperty('registry')
})

test('one action has one version everywhere', () => {
  const pins = new Map<string, Set<string>>()
  for (const { steps } of workflows)
    for (const { uses } of steps.filter((it) => it.uses)) {
      const [action, commit] = (uses as string).split('@') as [string, string]
      pins.set(action, (pins.get(action) ?? new Set()).add(commit))
    }
  for (const [action, commits] of pins) expect([...commits], action).toHaveLength(1)
})

test('scripts that workflows run exist', () => {
  const commands = workflows.flatMap(({ steps }) => steps.map(({ run = '' }) => run)).join('\n')
  const scripts = [...commands.matchAll(/\bdeploy\/[\w/-]+\.(?:mjs|ts|sh)\b/g)].map(([path]) => path)
  expect(scripts.length).toBeGreaterThan(2)
  for (const path of scripts) expect(existsSync(join(ROOT, path)), path).toBe(true)
})
