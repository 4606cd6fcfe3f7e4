import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDesk } from '../cli/cli.ts'
import { kubernetesAssets } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { waitFor } from '../wait-for.ts'

kubernetesAssets()

test('check and run say that the API server does not accept a token, and what to do', async () => {
  await using kubernetes = await borrowKubernetes()
  using desk = openDesk()
  const text = readFileSync(kubernetes.kubeconfig, 'utf8').replace(/"token":"[^"]*"/, '"token":"expired-one"')
  desk.env['KUBECONFIG'] = desk.write('config', text)
  desk.write(
    'kubeherald.yaml',
    'watch: [Event]\nsinks: { s: { type: stdout } }\nrules: [{ name: all, to: s }]\nserver: { port: 0 }',
  )
  const check = await desk.run('check')
  expect(check.stdout + check.stderr).toContain('a token may have expired')
  expect(check.stdout + check.stderr).not.toContain('expired-one')
  expect(check.code).not.toBe(0)
  const run = desk.start('run', '--state-dir', join(desk.dir, 'state'))
  await waitFor(() => run.output().includes('a token may have expired'), { what: () => run.output() })
  await run.end('SIGTERM')
  expect(run.output()).not.toContain('expired-one')
})
