import { describe, expect, test } from 'vitest'
import { presetType } from '../../sinks/webhook/index.ts'
import { PRESET_NAMES } from '../../sinks/webhook/presets/names.ts'
import type { SinkType } from '../../src/sink/index.ts'
import { conformance } from '../../src/sink/testkit/index.ts'
import { builtInSinks } from '../../src/sink-types.ts'
import { sinksUnderTest } from './targets/index.ts'
import { serviceSetup } from './targets/service.ts'
import { SERVICES } from './webhook/services/index.ts'

// A new sink needs a line in targets/index.ts, and a file there that says how to start a peer for it.
const presetsUnderTest = await Promise.all(
  SERVICES.map(async (create) => {
    const type = (await presetType(create().name)) as SinkType
    return { type, setup: serviceSetup(create) }
  }),
)

for (const { type, setup } of [...sinksUnderTest, ...presetsUnderTest]) {
  describe(type.type, () => {
    for (const { name, run } of conformance(type, setup)) {
      test(name, async (context) => {
        const result = await run()
        // The kit says why it is not about this type, or what excuses it; the report tells it.
        if (result.kind === 'skipped') context.skip(result.why)
      })
    }
  })
}

test('every built-in sink is under test', () => {
  expect(sinksUnderTest.map(({ type }) => type.type).toSorted()).toEqual(Object.keys(builtInSinks).toSorted())
})

test('every preset is under test', () => {
  expect(presetsUnderTest.map(({ type }) => type.type).toSorted()).toEqual(PRESET_NAMES.toSorted())
})
