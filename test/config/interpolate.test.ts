// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { expect, test } from 'vitest'
import { interpolate } from '../../src/config/values/interpolate.ts'

const SOURCES = {
  env: { NAME: 'value', EMPTY: '' },
  readFile(path: string): string {
    if (path === 'token.txt') return 'secret\n'
    throw Object.assign(new Error('no such file'), { code: path === 'locked' ? 'EACCES' : 'ENOENT' })
  },
}

test.each([
  ['plain', 'plain', []],
  ['${env:NAME}', 'value', ['value']],
  ['a-${env:NAME}-${env:NAME}', 'a-value-value', ['value', 'value']],
  ['${env:EMPTY}', '', ['']],
  ['Bearer ${file:token.txt}', 'Bearer secret', ['secret']],
  ['$${env:NAME}', '${env:NAME}', []],
  ['$${$${env:NAME}', '${${env:NAME}', []],
  ['costs $5 {now}', 'costs $5 {now}', []],
])('%s becomes %s', (text, expected, secrets) => {
  expect(interpolate(text, SOURCES)).toEqual({ text: expected, secrets, faults: [] })
})

test.each([
  ['x${env:MISSING}', 1, 14, 'the environment variable MISSING is not set'],
  ['${env:constructor}', 0, 18, 'the environment variable constructor is not set'],
  ['${file:gone}', 0, 12, 'the file gone cannot be read: there is no such file'],
  ['${file:locked}', 0, 14, 'the file locked cannot be read: permission denied'],
  ['${NAME}', 0, 7, '${NAME} is not a reference'],
  ['${}', 0, 3, '${} is not a reference'],
  ['${env:TOKEN:-xoxb-1}', 0, 20, '${env:TOKEN:…} has a default value, and references have none'],
  ['${env: NAME}', 0, 12, 'the name of ${env: …} begins or ends with a blank'],
  ['${file:token.txt }', 0, 18, 'the name of ${file: …} begins or ends with a blank'],
  ['${vault:x}', 0, 10, '${vault:x} is not a reference'],
  ['a ${env:NAME', 2, 10, 'the "}" is missing'],
])('%s is refused', (text, offset, length, message) => {
  expect(interpolate(text, SOURCES).faults).toMatchObject([{ offset, length, message }])
})

test.each([
  ['${env:NAME:-x}', '${env:NAME}'],
  ['${env: NAME}', '${env:NAME}'],
])('what the hint of %s has is read', (text, reference) => {
  const { faults } = interpolate(text, { ...SOURCES, standIn: 'x' })
  expect(faults).toHaveLength(1)
  expect(faults[0]?.absent).toBeUndefined()
  expect(faults[0]?.hint).toContain(`write ${reference}`)
  expect(interpolate(reference, SOURCES).faults).toEqual([])
})

test('what is filled in is not filled in again', () => {
  const env = { A: '${env:B}', B: 'no' }
  expect(interpolate('${env:A}', { ...SOURCES, env }).text).toBe('${env:B}')
})
