import { expect, test } from 'vitest'
import { compileOwners } from '../../src/rules/owner.ts'
import type { Patterns } from '../../src/rules/pattern.ts'

const CHAIN = [
  { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-6d4f' },
  { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
]

function means(patterns: Patterns, owners: typeof CHAIN | undefined): boolean {
  const compiled = compileOwners(patterns)
  if (!compiled.ok) throw new Error(compiled.faults[0]?.message)
  return compiled.value(owners)
}

test.each<[Patterns, boolean]>([
  ['Deployment/web', true],
  ['Deployment', true],
  ['deploy/web', true],
  ['deployments.apps/web', true],
  ['apps/v1/Deployment/web', true],
  ['*/web', true],
  ['Deployment/w*', true],
  ['*Set', true],
  ['ReplicaSet/web-6d4f', true],
  ['/^Deployment.we/', true],
  ['*', true],
  ['Deployment/api', false],
  ['ReplicaSet/web', false],
  ['deployments.example.com/web', false],
  ['StatefulSet', false],
  ['!Deployment/web', false],
  ['!Deployment/api', true],
  ['!*', false],
  [['Job', 'Deployment'], true],
  [['Deployment', '!ReplicaSet'], false],
])('%j of a Pod of Deployment web is %s', (patterns, expected) => {
  expect(means(patterns, CHAIN)).toBe(expected)
})

test.each([undefined, []])('of owners %j, which are not known or none, only "!" patterns pass', (owners) => {
  expect(means('*', owners)).toBe(false)
  expect(means('Deployment/web', owners)).toBe(false)
  expect(means('!*', owners)).toBe(true)
  expect(means('!Deployment/web', owners)).toBe(true)
})

test.each([
  ['Deployment/^web-.*$', 'write Deployment/… with * and ?, or "/^Deployment/…/"'],
  ['!Deployment/(a|b)$', 'write !Deployment/… with * and ?, or "!/^Deployment/…/"'],
  ['Deployment/shop/web', 'write Deployment/web, which matches in all namespaces of the rule'],
  ['!Deployment/shop/web', 'write !Deployment/web, which matches in all namespaces of the rule'],
])('for %j the hint is: %s', (text, hint) => {
  expect(compileOwners(text)).toMatchObject({ ok: false, faults: [{ hint }] })
})

test.each([
  ['web/Deployment', 'the kind comes first', 'write Deployment/web'],
  ['!web/Deployment', 'the kind comes first', 'write !Deployment/web'],
  ['Deployment/Web', 'names are in lower case', 'write Deployment/web'],
  ['apps/Deployment', 'the kind comes first', 'write Deployment/apps'],
  ['apps/v1/Deployment', 'names are in lower case', 'write apps/v1/deployment'],
  ['web-frontend', '"web-frontend" is not a kind', 'for an owner of any kind write "*/web-frontend"'],
  ['Deployment/', '"Deployment/" is not an owner', 'write Deployment, Deployment/web'],
  ['', 'is empty: name a kind', 'write Deployment'],
  ['Deployment/web,Job', '"Deployment/web,Job" is not an owner', 'write a list: ['],
  ['two words/web', '"two words" is not a kind', 'write Deployment, Deployment/web'],
  ['Deployment/(a', '', ''],
])('%j is refused or read as it stands', (text, message, hint) => {
  const compiled = compileOwners([text, 'Job'])
  if (message === '') return expect(compiled.ok).toBe(true)
  expect(compiled).toMatchObject({
    ok: false,
    faults: [
      {
        path: [0],
        message: expect.stringContaining(message),
        hint: expect.stringContaining(hint),
        offset: text.startsWith('!') ? 1 : 0,
      },
    ],
  })
})
