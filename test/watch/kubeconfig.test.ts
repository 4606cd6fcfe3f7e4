import { writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, test } from 'vitest'
import { loadAccess } from '../../src/watch/client/kubeconfig.ts'
import { folder } from './folder.ts'

/** As kubeadm writes it: the names of cluster and user are the same for all clusters. */
function kubeadm(context: string, server: string) {
  return {
    'current-context': context,
    contexts: [{ name: context, context: { cluster: 'kubernetes', user: 'kubernetes-admin' } }],
    clusters: [{ name: 'kubernetes', cluster: { server } }],
    users: [{ name: 'kubernetes-admin', user: { token: `token-of-${context}` } }],
  }
}

/** What is loaded of files with these contents; a text is written as it is. */
async function load(...contents: (object | string)[]) {
  using files = folder()
  const paths = contents.map((content, i) => {
    const path = join(files.dir, `config-${i}`)
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  })
  const access = loadAccess({ kubeconfig: paths.join(delimiter), env: {} })
  const { headers } = await access.credentials()
  return [access.context, access.server, headers['authorization']]
}

test('of names that several kubeconfigs have, the first one counts, as with kubectl', async () => {
  const loaded = await load(kubeadm('one', 'https://one'), kubeadm('two', 'https://two'))
  expect(loaded).toEqual(['one', 'https://one', 'Bearer token-of-one'])
})

test.each([
  ['is empty', ''],
  ['has a comment alone', '# later\n'],
  [
    'has nothing any more',
    { clusters: null, contexts: null, users: null, 'current-context': '', kind: 'Config' },
  ],
  ['names no current context', { clusters: [{ name: 'other', cluster: { server: 'https://other' } }] }],
])('a kubeconfig that %s leaves it to the others', async (_, first) => {
  const whole = ['one', 'https://one', 'Bearer token-of-one']
  expect(await load(first, kubeadm('one', 'https://one'))).toEqual(whole)
  expect(await load(kubeadm('one', 'https://one'), first)).toEqual(whole)
})

test('a kubeconfig that is empty, and the only one, is one without a context', async () => {
  await expect(load('')).rejects.toThrow(/no current context/)
})
