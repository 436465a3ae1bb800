import { clockContract } from '../io/clock.contract.ts';
import { machineHarness } from './machine.fixture.ts';

clockContract('machine', async () => machineHarness());
