import { systemClock } from '../../runtime/system';
import { describeFlavorStore } from '../../testing/instances/flavor-contract';
import { memoryFlavorStore } from './flavor-store';

describeFlavorStore('memory', async (maxFlavors) => memoryFlavorStore(systemClock(), maxFlavors));
