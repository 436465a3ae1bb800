import { clockContract } from '../io/clock.contract.ts';
import { machineHarness } from './machine.contract.ts';

clockContract('machine', async () => machineHarness());
