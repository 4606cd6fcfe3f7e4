import type * as z from 'zod'
import { PRESETS, type PresetName } from '../presets/index.ts'
import { type Endpoint, isGuarded } from './url.ts'
