import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { FILTERS } from '../../../src/sink/template/filters.ts'
import { yamlOf } from '../../../src/sink/template/formats.ts'
import { rendered } from './subject.ts'

test.each([
  ['"2026-11-21T11:59:15Z" | age', '45s'],
  ['"2026-11-21T11:55:00Z" | age', '5m'],
  ['"2026-11-21T11:54:30Z" | age', '5m30s'],
  ['"2026-11-21T09:00:00Z" | age', '3h'],
  ['"2026-11-18T08:00:00Z" | age', '3d4h'],
  ['"2024-11-20T12:00:00Z" | age', '2y1d'],
  ['"2027-01-01T00:00:00Z" | age', '0s'],
  ['"soon" | age', 'soon'],
  ['object.nope | age', ''],
  ['300 | duration', '5m'],
  ['"90" | duration', '90s'],
  ['"1h30m" | duration', '1h30m'],
  ['128974848 | quantity', '123Mi'],
  ['"1500m" | quantity', '1.5'],
  ['"1500M" | quantity', '1.5G'],
  ['"2Gi" | quantity', '2Gi'],
  ['"512" | quantity', '512'],
  ['"0" | quantity', '0'],
  ['"100n" | quantity', '0'],
  ['"1e3" | quantity', '1000'],
  ['"many" | quantity', 'many'],
  ['"abcdefgh" | shorten: 5', 'abcd…'],
  ['"abc😀efgh" | shorten: 5', 'abc…'],
  ['"abc" | shorten', 'abc'],
  ['object.spec.containers | map: "name" | join: ", "', 'a, b'],
  ['object.spec.containers | where: "name", "b" | json', '[{"name":"b"}]'],
  ['object.spec.containers | sum: "restarts"', '2'],
  ['object.spec.containers | sort: "restarts" | map: "name" | join', 'a b'],
  ['"B,a,C" | split: "," | sort_natural | join: ""', 'aBC'],
  ['object.spec.containers | size', '2'],
  ['object.nope | default: "none"', 'none'],
  ['time | date: "%Y"', '2026'],
  ['"a b" | url_encode', 'a+b'],
  ['object | kubectl', 'kubectl -n shop describe pod web'],
])('{{ %s }} gives %s', (expression, text) => {
  const parts = {
    event: { kind: 'Pod', namespace: 'shop', time: '2026-11-21T09:00:00.000Z', cluster: 'prod' },
  }
  expect(rendered(`{{ ${expression} }}`, {}, parts)).toBe(text)
})

test('the kubectl line cannot be left by a name', () => {
  const object = (name: string, apiVersion = 'v1') => ({
    object: { apiVersion, kind: 'Thing', metadata: { name } },
  })
  expect(rendered('{{ object | kubectl }}', {}, object("x'; rm -rf /"))).toBe(
    "kubectl describe thing 'x'\\''; rm -rf /'",
  )
  expect(rendered('{{ object | kubectl }}', {}, object('--all'))).toBe('kubectl describe thing -- --all')
  expect(rendered('{{ object | kubectl }}', {}, object('a\nb'))).toBe("kubectl describe thing 'a b'")
  expect(rendered('{{ object | kubectl }}', {}, object('a', 'stable.example.com/v1'))).toBe(
    'kubectl describe thing.stable.example.com a',
  )
})

test.each([
  [{ a: 1, b: [true, null, 'x'], c: {}, d: [], e: { f: [{ g: 1, h: 'two\nlines\n' }, [1, 2]] } }],
  [
    [
      'yes',
      'n',
      '1.5',
      '2026-11-21',
      'a: b',
      '# c',
      '- d',
      '',
      ' x ',
      'é',
      '"q"',
      "it's",
      'a\nb',
      'a\n\n\nb\n\n',
      '\n',
      '\tx\ny',
      '{{',
      '*a',
      '&b',
      '!c',
      '%',
      '@',
      '`',
      '~',
      'null',
      '0x1f',
      '1e3',
      'http://x/y:z',
    ],
  ],
  ['text'],
  [{ 'app.kubernetes.io/name': 'web', 'a b': { 'c: d': 'e' }, '1': 'x', true: 'y' }],
  [{ deep: { list: [[['x']], { y: ['z\nw'] }] } }],
])('what yaml writes reads as the same: %j', (value) => {
  expect(parse(yamlOf(value))).toEqual(value)
})

test('yaml of something large is cut', () => {
  const text = yamlOf(Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`key-${i}`, 'value'])))
  expect(text.length).toBeLessThan(101_000)
  expect(text.endsWith('# …')).toBe(true)
})

test.each(FILTERS)('the filter %s takes nothing, text, numbers, lists and maps', (filter) => {
  const args = { append: '"x"', prepend: '"x"', date: '"%Y"' }[filter as string]
  const call = args === undefined ? filter : `${filter}: ${args}`
  if (filter === 'as_is') return
  for (const value of ['nil', '"text"', '3', 'object.spec.containers', 'object.spec', 'true'])
    expect(() => rendered(`{{ ${value} | ${call} }}`), value).not.toThrow()
})
