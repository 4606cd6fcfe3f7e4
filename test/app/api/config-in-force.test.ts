import { expect, test } from 'vitest'
import { configInForce } from '../../../src/app/api/config-in-force.ts'

test('secrets that are also parts of JSON are hidden in texts only', () => {
  const config = { secrets: ['true', '100', 'title'] }
  const parts = { config: () => config, load: () => Promise.reject(new Error('none')) }
  const value = { title: 'a true title', isOpen: true, atMs: 1_732_610_010_094, items: ['100 of 5'] }
  expect(configInForce(parts as never).hidden(value)).toEqual({
    title: 'a *** ***',
    isOpen: true,
    atMs: 1_732_610_010_094,
    items: ['*** of 5'],
  })
})
