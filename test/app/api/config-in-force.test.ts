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

test('what an answer is about is not hidden, but what the configuration and its messages have is', () => {
  const parts = { config: () => ({ secrets: ['shop'] }), load: () => Promise.reject(new Error('none')) }
  const event = { kind: 'Pod', namespace: 'shop', name: 'shop-web-1' }
  const sinks = [{ sink: 'shop', rule: 'shop', detail: 'no shop', notification: { name: 'shop' } }]
  const rules = [{ rule: 'shop', conditions: [{ name: 'if', expected: { name: 'shop' } }], sinks: ['shop'] }]
  const answer = {
    id: 'prod/shop/1/ADDED',
    event,
    sinks,
    rules,
    changes: [{ path: 'a', old: { name: 'shop' } }],
  }
  expect(configInForce(parts as never).hidden(answer)).toEqual({
    ...{ id: answer.id, event },
    sinks: [{ ...sinks[0], detail: 'no ***', notification: { name: '***' } }],
    rules: [{ ...rules[0], conditions: [{ name: 'if', expected: { name: '***' } }] }],
    changes: [{ path: 'a', old: { name: '***' } }],
  })
})
