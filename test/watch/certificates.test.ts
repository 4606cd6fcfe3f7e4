import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createAuthority } from '../servers/certificates.ts'
import { configMap } from '../servers/scripted-api.ts'
import { waitFor } from '../wait-for.ts'
import { kubeconfigFor, startWatchBed } from './bed.ts'
import { folder } from './folder.ts'

/** A server's and a client's certificates of one authority. */
function generation(name: string) {
  const authority = createAuthority(`authority ${name}`)
  const client = authority.issue('kubeherald')
  return { server: { ...authority.issue('server'), ca: authority.cert }, ca: authority.cert, client }
}

type ConfigSnapshot = ReturnType<typeof generation>

const base64 = (text: string) => Buffer.from(text).toString('base64')
const inlineUser = ({ client }: ConfigSnapshot) => ({
  'client-certificate-data': base64(client.cert),
  'client-key-data': base64(client.key),
})
const inlineCluster = ({ ca }: ConfigSnapshot) => ({ 'certificate-authority-data': base64(ca) })

test('case 38: certificates that were rotated in their files, the authority’s too, are used by the next connection', async () => {
  using files = folder()
  const [old, next] = [generation('one'), generation('two')]
  const place = (name: string) => join(files.dir, name)
  const write = ({ ca, client }: ConfigSnapshot) => {
    writeFileSync(place('ca.crt'), ca)
    writeFileSync(place('client.crt'), client.cert)
    writeFileSync(place('client.key'), client.key)
  }
  write(old)
  await using it = await startWatchBed({
    tls: old.server,
    cluster: { 'certificate-authority': place('ca.crt') },
    user: { 'client-certificate': place('client.crt'), 'client-key': place('client.key') },
  })
  await it.watching('10')
  it.api.rotate(next.server)
  write(next)
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  it.api.current()?.reset()
  await it.arrived(1)
  expect(await it.enqueued()).toEqual(['ADDED a@11'])
})

test('case 38: certificates that were rotated within the kubeconfig are used by the next connection', async () => {
  const [old, next] = [generation('one'), generation('two')]
  await using it = await startWatchBed({
    tls: old.server,
    cluster: inlineCluster(old),
    user: inlineUser(old),
  })
  await it.watching('10')
  it.api.rotate(next.server)
  writeFileSync(it.kubeconfig, kubeconfigFor(it.api.url, inlineUser(next), inlineCluster(next)))
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  it.api.current()?.reset()
  await it.arrived(1)
})

test('case 38: a server whose authority changed before ours did is not trusted until the file says so', async () => {
  using files = folder()
  const [old, next] = [generation('one'), generation('two')]
  const ca = join(files.dir, 'ca.crt')
  writeFileSync(ca, old.ca)
  await using it = await startWatchBed({
    tls: { ...old.server, ca: '' },
    cluster: { 'certificate-authority': ca },
  })
  await it.watching('10')
  it.api.rotate({ cert: next.server.cert, key: next.server.key })
  it.api.script((watch) => watch.frame('ADDED', configMap('a', 11)))
  it.api.current()?.reset()
  const distrusts = () => /certificate/.test(it.statuses()[0]?.lastError ?? '')
  await waitFor(distrusts, { what: () => `distrust in the status, not ${it.statuses()[0]?.lastError}` })
  const asked = it.api.requests.length
  writeFileSync(ca, next.ca)
  await it.arrived(1)
  expect(it.api.requests.length).toBeGreaterThan(asked)
})
