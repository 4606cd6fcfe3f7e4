import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { readAlerts } from '../observe/alerts.ts'
import { promtool } from '../servers/prometheus.ts'

const FOLDER = fileURLToPath(new URL('../../deploy/prometheus', import.meta.url))

test('promtool finds nothing wrong with the alerts', () => {
  const { code, output } = promtool([
    'check',
    'rules',
    '--lint=all',
    '--lint-fatal',
    join(FOLDER, 'alerts.yaml'),
  ])
  expect(output).toContain('SUCCESS')
  expect(code).toBe(0)
})

test('each alert fires when it should, and not a minute sooner', () => {
  const { code, output } = promtool(['test', 'rules', join(FOLDER, 'alerts.test.yaml')])
  expect(output).toContain('SUCCESS')
  expect(code).toBe(0)
})

test('an alert that fires for one does not count it as several', () => {
  const firesForOne = readAlerts().filter(({ expr }) => /> 0$/.test(expr.trim()))
  expect(firesForOne.length).toBeGreaterThan(5)
  const counted = firesForOne.filter(({ annotations }) => /\$value[^}]*}} \w/.test(annotations.summary))
  expect(counted.map(({ alert }) => alert)).toEqual([])
})

test.each([
  ['sooner', /for: 10m/, 'for: 9m', 'a watch of one replica has no position, the other is on standby'],
  [
    'for a replica on standby',
    /min by (\(.*\)) \(kubeherald_watch_phase/,
    'max by $1 (kubeherald_watch_phase',
    'two replicas that are well, one of which is on standby and has a bad last answer of a sink that the other serves',
  ],
])('a unit test notices an alert that fires %s', (_, pattern, instead, name) => {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-alerts-'))
  try {
    const text = readFileSync(join(FOLDER, 'alerts.yaml'), 'utf8')
    const changed = text.replace(pattern, instead)
    expect(changed).not.toBe(text)
    writeFileSync(join(dir, 'alerts.yaml'), changed)
    const { tests, ...file } = parse(readFileSync(join(FOLDER, 'alerts.test.yaml'), 'utf8'))
    const own = tests.filter((it: { name: string }) => it.name === name)
    expect(own).toHaveLength(1)
    writeFileSync(join(dir, 'alerts.test.yaml'), stringify({ ...file, tests: own }))
    expect(promtool(['test', 'rules', join(dir, 'alerts.test.yaml')])).toMatchObject({
      code: 1,
      output: expect.stringContaining('FAILED'),
    })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
