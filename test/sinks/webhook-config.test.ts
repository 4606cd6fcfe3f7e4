import { expect, test } from 'vitest'
import { WebhookConfig } from '../../sinks/webhook/config.ts'

const problemsOf = (config: object) =>
  WebhookConfig.safeParse(config).error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ??
  []

test.each([
  'http://169.254.169.254/latest/meta-data',
  'http://[fe80::1]/x',
  'http://[::ffff:169.254.169.254]/x',
  'http://metadata.google.internal/x',
])('%s is refused before anything starts, unless it is permitted', (url) => {
  expect(problemsOf({ url })).toEqual([
    'url is a link-local or cloud metadata address, which gets nothing unless allowLinkLocal is true',
  ])
  expect(problemsOf({ url, allowLinkLocal: true })).toEqual([])
})

test('usual addresses are permitted', () => {
  for (const url of ['http://10.0.0.1:8080/x', 'https://hooks.example.com/x', 'http://[::1]/x'])
    expect(problemsOf({ url })).toEqual([])
})
