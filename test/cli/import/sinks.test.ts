import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { importText } from '../../../src/cli/import/import.ts'
import { toYaml } from '../../../src/cli/import/imported.ts'

const imported = (config: object) => toYaml(importText(stringify(config), 'it.yaml'))
const route = { match: [{ receiver: 'a' }] }

const exporter = (receiver: object, ...others: readonly object[]) =>
  imported({ route, receivers: [{ name: 'a', ...receiver }, ...others] })

test.each([
  ['https://u:hunter2@b', 'https://b:'],
  ['https://u:hunter2@b.example.com:9200/hunter2', 'https://b.example.com:9200:'],
  ['https://b/?api_key=hunter2', 'https://b:'],
  ['https://b/?mail=a@hunter2#hunter2', 'https://b:'],
  ['https://${HOST}:9200/hunter2', 'https://${env:HOST}:9200:'],
  ['https://u:hunter2@${HOST}:9200', 'an address'],
  ['https://u:hunter2/x@b', 'an address'],
  ['u:hunter2@b:9200', 'an address'],
  ['b:9200/hunter2', 'b:9200:'],
  ['${HOST}', '${env:HOST}:'],
])('a comment on the second host %s has no secret of it', (second, named) => {
  for (const type of ['elasticsearch', 'opensearch']) {
    const text = exporter({ [type]: { hosts: ['https://u:hunter2@a', second] } })
    expect(text).not.toMatch(/hunter2/)
    expect(text).toContain(`# not carried over: hosts ${named}`)
  }
})
